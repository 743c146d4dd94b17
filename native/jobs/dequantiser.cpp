#include "dequantiser.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "codes.hpp"

namespace layerloom {
namespace {

/// Elements of a block, which fits into an L2 cache of 2 MiB.
constexpr std::size_t kDequantisedElements = 256 * 1024;
/// Blocks start at a multiple of this number of rows, so that 4-bit codes start at whole bytes.
constexpr std::uint64_t kRowsTogether = 32;
/// Stored rows that are transposed together, so that each cache line of the block is written once. Rows are
/// often a multiple of 4 KiB apart, so their lines would evict each other.
constexpr std::uint64_t kStrip = 16;

constexpr std::size_t kLine = 64;

std::uint64_t blocksOf(std::uint64_t elements, std::uint64_t each) { return (elements + each - 1) / each; }

/// Returns 2^(e − 127); NaN for 255.
float powerOf(std::uint8_t e) {
    const std::uint32_t bits = e == 255 ? 0x7FC0'0000u
                               : e == 0 ? 0x0040'0000u
                                        : static_cast<std::uint32_t>(e) << 23;
    return __builtin_bit_cast(float, bits);
}

/// Prefetches a row of codes: rows are too far apart for the hardware to prefetch.
void prefetch(std::span<const std::byte> bytes) {
    for (std::size_t at = 0; at < bytes.size(); at += kLine) __builtin_prefetch(bytes.data() + at);
}

/// Transposes rows [count][columns] into rows that are `stride` apart.
void transpose(const float* rows, std::size_t count, std::size_t columns, float* out, std::size_t stride) {
    if (count == kStrip)
        for (std::size_t i = 0; i < columns; ++i)
            for (std::size_t r = 0; r < kStrip; ++r) out[i * stride + r] = rows[r * columns + i];
    else
        for (std::size_t i = 0; i < columns; ++i)
            for (std::size_t r = 0; r < count; ++r) out[i * stride + r] = rows[r * columns + i];
}

/// Transposes an 8×8 matrix of bytes, one row in each word: first halves of words, then quarters, then bytes.
void transposeWords(std::uint64_t (&x)[8]) {
    constexpr std::uint64_t masks[] = {0x0000'0000'FFFF'FFFF, 0x0000'FFFF'0000'FFFF, 0x00FF'00FF'00FF'00FF};
    for (int stage = 0, apart = 4; stage < 3; ++stage, apart /= 2)
        for (int i = 0; i < 8; ++i) {
            if ((i & apart) != 0) continue;
            const std::uint64_t other = (x[i] >> (8 * apart) ^ x[i + apart]) & masks[stage];
            x[i + apart] ^= other;
            x[i] ^= other << (8 * apart);
        }
}

/// out[i][r] = lines[r][i]; rows of `out` are a cache line apart.
void transposeBytes(const std::uint8_t* const* lines, std::size_t count, std::size_t bytes,
                    std::uint8_t* out) {
    const std::size_t rows = count / 8 * 8, columns = bytes / 8 * 8;
    for (std::size_t r = 0; r < rows; r += 8)
        for (std::size_t i = 0; i < columns; i += 8) {
            std::uint64_t words[8];
            for (std::size_t k = 0; k < 8; ++k) std::memcpy(&words[k], lines[r + k] + i, 8);
            transposeWords(words);
            for (std::size_t k = 0; k < 8; ++k) std::memcpy(out + (i + k) * kLine + r, &words[k], 8);
        }
    for (std::size_t r = 0; r < count; ++r)
        for (std::size_t i = r < rows ? columns : 0; i < bytes; ++i) out[i * kLine + r] = lines[r][i];
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
    const Codes& codes = what_.codes;
    const bool areHalves = codes.kind == Codes::Kind::E2M1 && codes.order != Codes::Order::Down &&
                           codes.order != Codes::Order::Interleaved && !what_.zeros && !what_.hasGroups;
    if (what_.transposed && areHalves) return fillHalves(first, count, out);
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
        const float number = group < gridColumns_ && what_.zeros ? out[i] - zerosNow_[group] : out[i];
        out[i] =
            number * (group < gridColumns_ ? scalesNow_[group] : std::numeric_limits<float>::quiet_NaN());
    }
}

void Dequantiser::scaleByBlocks(std::uint64_t rowOfBlocks, std::uint64_t column, std::size_t count,
                                float* out) {
    const std::uint64_t block = column / what_.blockColumns, last = (column + count - 1) / what_.blockColumns;
    const auto blocks = static_cast<std::size_t>(last - block + 1);
    prepare(rowOfBlocks, block, blocks);
    const auto width = static_cast<std::size_t>(what_.blockColumns);
    const auto lead = static_cast<std::size_t>(column % what_.blockColumns);
    if (width == 1) {
        if (what_.zeros)
            for (std::size_t i = 0; i < count; ++i) out[i] -= zerosNow_[i];
        for (std::size_t i = 0; i < count; ++i) out[i] *= scalesNow_[i];
        return;
    }
    if (what_.zeros)
        for (std::size_t at = 0, run = 0; at < count; ++run) {
            const std::size_t n = std::min(count - at, width - (run == 0 ? lead : 0));
            for (std::size_t i = 0; i < n; ++i) out[at + i] -= zerosNow_[run];
            at += n;
        }
    kernels_.scaleRuns(scalesNow_, width, lead, out, count);
}

void Dequantiser::prepare(std::uint64_t rowOfBlocks, std::uint64_t first, std::size_t count) {
    // With groups, rows of codes may belong to any group.
    const bool all = what_.transposed && what_.hasGroups;
    const std::uint64_t begin = all ? rowOfBlocks / gridRows_ * gridRows_ : rowOfBlocks;
    const auto rows = static_cast<std::size_t>(all ? gridRows_ : 1);
    if (prepared_ != count || preparedRow_ != begin || preparedFirst_ != first) {
        if (ofBlocks_.size() < rows * count) ofBlocks_.resize(rows * count);
        if (what_.zeros && zerosOfBlocks_.size() < rows * count) zerosOfBlocks_.resize(rows * count);
        for (std::size_t r = 0; r < rows; ++r) {
            findScales((begin + r) * gridColumns_ + first, count, ofBlocks_.data() + r * count);
            if (what_.zeros) findZeros(begin + r, first, count, zerosOfBlocks_.data() + r * count);
        }
        preparedRow_ = begin;
        preparedFirst_ = first;
        prepared_ = count;
    }
    const std::size_t at = static_cast<std::size_t>(rowOfBlocks - begin) * count;
    scalesNow_ = ofBlocks_.data() + at;
    zerosNow_ = zerosOfBlocks_.data() + (what_.zeros ? at : 0);
}

void Dequantiser::findScales(std::uint64_t first, std::size_t count, float* out) const {
    const auto byteAt = [&](std::size_t i) { return static_cast<std::uint8_t>(scales_.data[first + i]); };
    switch (what_.scales) {
        case Dequantise::Scales::Floats:
            widen(scales_, first, count, out);
            break;
        case Dequantise::Scales::Exponents:
            for (std::size_t i = 0; i < count; ++i) out[i] = powerOf(byteAt(i));
            break;
        case Dequantise::Scales::Nested:
            float scale;
            for (std::size_t i = 0; i < count; ++i) {
                if (i == 0 || (first + i) % what_.nested->block == 0)
                    widen(ofNested_, (first + i) / what_.nested->block, 1, &scale);
                out[i] = numbers_[byteAt(i)] * scale + what_.nested->offset;
            }
            break;
    }
    for (std::size_t i = 0; i < count; ++i)
        if (what_.factor == Dequantise::Factor::Times)
            out[i] = out[i] * factor_;
        else if (what_.factor == Dequantise::Factor::Divisor)
            out[i] = out[i] / factor_;
}

void Dequantiser::findZeros(std::uint64_t rowOfBlocks, std::uint64_t first, std::size_t count,
                            float* out) const {
    const auto& [codes, oneMore] = *what_.zeros;
    decode(kernels_, codes, zeros_.data, rowOfBlocks, first, count, out);
    if (!oneMore) return;
    const float most = codes.kind == Codes::Kind::U8 ? 127 : 7;
    for (std::size_t i = 0; i < count; ++i) out[i] = out[i] == most ? -most - 1 : out[i] + 1;
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

/// Computes a block of output rows, which are columns of a stored matrix.
void Dequantiser::computeBlock(std::uint64_t outputRow) {
    const std::uint64_t matrix = outputRow / what_.codes.columns, column = outputRow % what_.codes.columns;
    const std::uint64_t most =
        std::max<std::uint64_t>(1, kDequantisedElements / what_.codes.rows / kRowsTogether) * kRowsTogether;
    const std::uint64_t begin = column / most * most;
    const std::uint64_t rows = std::min(most, what_.codes.columns - begin);
    if (block_ == nullptr)
        block_ =
            std::make_unique_for_overwrite<float[]>(std::min(most, what_.codes.columns) * what_.codes.rows);
    strip_.resize(kStrip * rows);
    const auto fetch = [&](std::uint64_t stored) {
        for (std::uint64_t r = stored; r < std::min(stored + kStrip, what_.codes.rows); ++r)
            prefetch(bytesOf(what_.codes, codes_.data, matrix * what_.codes.rows + r, begin,
                             static_cast<std::size_t>(rows)));
    };
    fetch(0);
    for (std::uint64_t stored = 0; stored < what_.codes.rows; stored += kStrip) {
        fetch(stored + kStrip);
        const auto count = static_cast<std::size_t>(std::min(kStrip, what_.codes.rows - stored));
        for (std::size_t r = 0; r < count; ++r)
            fillRow(matrix * what_.codes.rows + stored + r, begin, static_cast<std::size_t>(rows),
                    strip_.data() + r * rows);
        transpose(strip_.data(), count, static_cast<std::size_t>(rows), block_.get() + stored,
                  static_cast<std::size_t>(what_.codes.rows));
    }
    blockFirst_ = matrix * what_.codes.columns + begin;
    blockRows_ = rows;
}

void Dequantiser::fillHalves(std::uint64_t first, std::size_t count, float* out) {
    const bool swapped = what_.codes.order == Codes::Order::Swapped;
    for (std::size_t at = 0; at < count;) {
        const std::uint64_t row = (first + at) / outputColumns_, column = (first + at) % outputColumns_;
        if (row < blockFirst_ || row >= blockFirst_ + blockRows_) computeHalves(row);
        const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(count - at, outputColumns_ - column));
        // Starts the block at the first of two codes in a byte.
        const std::uint64_t inBlock = row - blockFirst_, stored = row % what_.codes.columns;
        const std::uint64_t begin = stored - inBlock;
        const std::uint64_t scales = stored / what_.blockColumns - begin / what_.blockColumns;
        kernels_.scaleHalves(halves_.data() + inBlock / 2 * outputColumns_ + column,
                             (inBlock % 2 == 1) != swapped,
                             ofHalves_.data() + scales * outputColumns_ + column, out + at, n);
        if (what_.after != 1) kernels_.scaleRuns(&what_.after, n, 0, out + at, n);
        at += n;
    }
}

void Dequantiser::computeHalves(std::uint64_t outputRow) {
    const Codes& codes = what_.codes;
    const std::uint64_t matrix = outputRow / codes.columns;
    const std::uint64_t begin = outputRow % codes.columns / (2 * kLine) * (2 * kLine);
    const std::uint64_t columns = std::min<std::uint64_t>(2 * kLine, codes.columns - begin);
    const auto pairs = static_cast<std::size_t>((columns + 1) / 2);
    const std::uint64_t firstScale = begin / what_.blockColumns;
    const auto scales = static_cast<std::size_t>((begin + columns - 1) / what_.blockColumns - firstScale + 1);
    const auto rows = static_cast<std::size_t>(codes.rows);
    halves_.resize(pairs * rows);
    ofHalves_.resize(scales * rows);
    const auto lineOf = [&](std::uint64_t stored) {
        return bytesOf(codes, codes_.data, matrix * codes.rows + stored, begin,
                       static_cast<std::size_t>(columns));
    };
    std::uint8_t strip[kLine * kLine];
    for (std::size_t stored = 0; stored < rows; stored += kLine) {
        const std::size_t count = std::min(kLine, rows - stored);
        const std::uint8_t* lines[kLine];
        for (std::size_t r = 0; r < count; ++r) {
            if (stored + r + kLine < rows) prefetch(lineOf(stored + r + kLine));
            lines[r] = reinterpret_cast<const std::uint8_t*>(lineOf(stored + r).data());
        }
        transposeBytes(lines, count, pairs, strip);
        for (std::size_t i = 0; i < pairs; ++i)
            std::memcpy(halves_.data() + i * rows + stored, strip + i * kLine, count);
    }
    strip_.resize(scales);
    for (std::size_t stored = 0; stored < rows; ++stored) {
        findScales((matrix * gridRows_ + stored / what_.blockRows) * gridColumns_ + firstScale, scales,
                   strip_.data());
        for (std::size_t b = 0; b < scales; ++b) ofHalves_[b * rows + stored] = strip_[b];
    }
    blockFirst_ = matrix * codes.columns + begin;
    blockRows_ = columns;
}

}  // namespace layerloom
