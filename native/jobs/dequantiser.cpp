#include "dequantiser.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "codes.hpp"

namespace layerloom {
namespace {

constexpr double kOne[] = {1};

/// Elements of a block of a transposed tensor: it stays in an L2 cache of 2 MiB.
constexpr std::size_t kDequantisedElements = 256 * 1024;
/// Rows of a block begin at multiples of a line of the cache of four-bit codes.
constexpr std::uint64_t kRowsTogether = 32;

std::uint64_t blocksOf(std::uint64_t elements, std::uint64_t each) { return (elements + each - 1) / each; }

/// 2^(e − 127); 255 is NaN.
float powerOf(std::uint8_t e) {
    const std::uint32_t bits = e == 255 ? 0x7FC0'0000u
                               : e == 0 ? 0x0040'0000u
                                        : static_cast<std::uint32_t>(e) << 23;
    return __builtin_bit_cast(float, bits);
}

}  // namespace

Dequantiser::Dequantiser(const Kernels& kernels, const Dequantise& what, std::span<const Source> inputs,
                         std::uint64_t columns)
    : kernels_(kernels),
      what_(what),
      codes_(inputs[0]),
      scales_(inputs[1]),
      gridRows_(blocksOf(what.codes.rows, what.blockRows)),
      gridColumns_(blocksOf(what.codes.columns, what.blockColumns)),
      outputColumns_(columns) {
    std::size_t next = 2;
    if (what.factor != Dequantise::Factor::None) widen(inputs[next++], 0, 1, &factor_);
    if (what.zeros) zeros_ = inputs[next++];
    if (what.hasGroups) groups_ = inputs[next++];
    if (!what.nested) return;
    numbers_.resize(256);
    widen(inputs[next++], 0, numbers_.size(), numbers_.data());
    ofNested_ = inputs[next];
}

void Dequantiser::widen(const Source& source, std::uint64_t element, std::size_t count, float* out) const {
    const Source from{source.data + element * sizeOf(source.dtype), source.dtype};
    linear(kernels_, {&from, 1}, kOne, {reinterpret_cast<std::byte*>(out), DType::F32}, count);
}

void Dequantiser::fill(std::uint64_t first, std::size_t count, float* out) {
    if (what_.transposed) return fillTransposed(first, count, out);
    const std::uint64_t columns = what_.codes.columns;
    for (std::size_t at = 0; at < count;) {
        const std::uint64_t column = (first + at) % columns;
        const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(count - at, columns - column));
        fillRow((first + at) / columns, column, n, out + at);
        at += n;
    }
}

void Dequantiser::fillRow(std::uint64_t row, std::uint64_t column, std::size_t count, float* out) {
    decode(kernels_, what_.codes, codes_.data, row, column, count, out);
    const std::uint64_t inMatrix = row % what_.codes.rows, before = row / what_.codes.rows * gridRows_;
    if (!what_.hasGroups) {
        scaleByBlocks(before + inMatrix / what_.blockRows, column, count, out);
    } else if (!what_.transposed) {
        scaleByGroups(before + inMatrix / what_.blockRows, column, count, out);
    } else if (const std::uint32_t group = groupOf(inMatrix); group < gridRows_) {
        scaleByBlocks(before + group, column, count, out);
    } else {
        std::fill_n(out, count, std::numeric_limits<float>::quiet_NaN());
    }
    if (what_.after != 1) kernels_.scaleRuns(&what_.after, count, 0, out, count);
}

std::uint32_t Dequantiser::groupOf(std::uint64_t feature) const {
    std::uint32_t group;
    std::memcpy(&group, groups_.data + 4 * feature, sizeof group);
    return group;
}

void Dequantiser::scaleByGroups(std::uint64_t rowOfBlocks, std::uint64_t column, std::size_t count,
                                float* out) {
    prepare(rowOfBlocks, 0, static_cast<std::size_t>(gridColumns_));
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t group = groupOf(column + i);
        const float number = group < gridColumns_ && what_.zeros ? out[i] - zerosOfBlocks_[group] : out[i];
        out[i] = number * (group < gridColumns_ ? ofBlocks_[group] : std::numeric_limits<float>::quiet_NaN());
    }
}

void Dequantiser::scaleByBlocks(std::uint64_t rowOfBlocks, std::uint64_t column, std::size_t count,
                                float* out) {
    const std::uint64_t block = column / what_.blockColumns, last = (column + count - 1) / what_.blockColumns;
    const auto blocks = static_cast<std::size_t>(last - block + 1);
    prepare(rowOfBlocks, block, blocks);
    const auto width = static_cast<std::size_t>(what_.blockColumns);
    const auto lead = static_cast<std::size_t>(column % what_.blockColumns);
    const float* const zeros = zerosOfBlocks_.data();
    if (width == 1) {
        if (what_.zeros)
            for (std::size_t i = 0; i < count; ++i) out[i] -= zeros[i];
        for (std::size_t i = 0; i < count; ++i) out[i] *= ofBlocks_[i];
        return;
    }
    if (what_.zeros)
        for (std::size_t at = 0, run = 0; at < count; ++run) {
            const std::size_t n = std::min(count - at, width - (run == 0 ? lead : 0));
            for (std::size_t i = 0; i < n; ++i) out[at + i] -= zeros[run];
            at += n;
        }
    kernels_.scaleRuns(ofBlocks_.data(), width, lead, out, count);
}

void Dequantiser::prepare(std::uint64_t rowOfBlocks, std::uint64_t first, std::size_t count) {
    if (prepared_ == count && preparedRow_ == rowOfBlocks && preparedFirst_ == first) return;
    if (ofBlocks_.size() < count) ofBlocks_.resize(count);
    findScales(rowOfBlocks * gridColumns_ + first, count);
    if (what_.zeros) findZeros(rowOfBlocks, first, count);
    preparedRow_ = rowOfBlocks;
    preparedFirst_ = first;
    prepared_ = count;
}

void Dequantiser::findScales(std::uint64_t first, std::size_t count) {
    const auto byteAt = [&](std::size_t i) { return static_cast<std::uint8_t>(scales_.data[first + i]); };
    switch (what_.scales) {
        case Dequantise::Scales::Floats:
            widen(scales_, first, count, ofBlocks_.data());
            break;
        case Dequantise::Scales::Exponents:
            for (std::size_t i = 0; i < count; ++i) ofBlocks_[i] = powerOf(byteAt(i));
            break;
        case Dequantise::Scales::Nested:
            for (std::size_t i = 0; i < count; ++i) {
                float scale;
                widen(ofNested_, (first + i) / what_.nested->block, 1, &scale);
                ofBlocks_[i] = numbers_[byteAt(i)] * scale + what_.nested->offset;
            }
            break;
    }
    for (std::size_t i = 0; i < count; ++i)
        if (what_.factor == Dequantise::Factor::Times)
            ofBlocks_[i] = ofBlocks_[i] * factor_;
        else if (what_.factor == Dequantise::Factor::Divisor)
            ofBlocks_[i] = ofBlocks_[i] / factor_;
}

void Dequantiser::findZeros(std::uint64_t rowOfBlocks, std::uint64_t first, std::size_t count) {
    const auto& [codes, oneMore] = *what_.zeros;
    if (zerosOfBlocks_.size() < count) zerosOfBlocks_.resize(count);
    decode(kernels_, codes, zeros_.data, rowOfBlocks, first, count, zerosOfBlocks_.data());
    if (!oneMore) return;
    const float most = codes.kind == Codes::Kind::U8 ? 127 : 7;
    for (std::size_t i = 0; i < count; ++i)
        zerosOfBlocks_[i] = zerosOfBlocks_[i] == most ? -most - 1 : zerosOfBlocks_[i] + 1;
}

void Dequantiser::fillTransposed(std::uint64_t first, std::size_t count, float* out) {
    for (std::size_t at = 0; at < count;) {
        const std::uint64_t row = (first + at) / outputColumns_, column = (first + at) % outputColumns_;
        if (row < blockFirst_ || row >= blockFirst_ + blockRows_) computeBlock(row);
        const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(count - at, outputColumns_ - column));
        std::memcpy(out + at, block_.get() + (row - blockFirst_) * outputColumns_ + column,
                    n * sizeof(float));
        at += n;
    }
}

/// A row of the output is a column of a stored matrix, whose rows are the output's columns.
void Dequantiser::computeBlock(std::uint64_t outputRow) {
    const std::uint64_t matrix = outputRow / what_.codes.columns, column = outputRow % what_.codes.columns;
    const std::uint64_t most =
        std::max<std::uint64_t>(1, kDequantisedElements / what_.codes.rows / kRowsTogether) * kRowsTogether;
    const std::uint64_t begin = column / most * most;
    const std::uint64_t rows = std::min(most, what_.codes.columns - begin);
    if (block_ == nullptr)
        block_ =
            std::make_unique_for_overwrite<float[]>(std::min(most, what_.codes.columns) * what_.codes.rows);
    line_.resize(rows);
    for (std::uint64_t stored = 0; stored < what_.codes.rows; ++stored) {
        fillRow(matrix * what_.codes.rows + stored, begin, static_cast<std::size_t>(rows), line_.data());
        for (std::uint64_t i = 0; i < rows; ++i) block_[i * what_.codes.rows + stored] = line_[i];
    }
    blockFirst_ = matrix * what_.codes.columns + begin;
    blockRows_ = rows;
}

}  // namespace layerloom
