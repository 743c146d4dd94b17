#include "dequantiser.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace layerloom {
namespace {

constexpr double kOne[] = {1};

/// Elements of a block of a transposed tensor: it stays in an L2 cache of 2 MiB.
constexpr std::size_t kDequantisedElements = 256 * 1024;
/// Rows of a block begin at multiples of a line of the cache of four-bit codes.
constexpr std::uint64_t kRowsTogether = 32;

/// The E4M3 byte of a number that E4M3 holds: at most four significant bits.
constexpr std::uint8_t asE4M3(int numerator, int halvings) {
    if (numerator == 0) return 0;
    const int magnitude = numerator < 0 ? -numerator : numerator;
    int exponent = 0;
    while (magnitude >> (exponent + 1) != 0) ++exponent;
    const int mantissa = (magnitude << 3 >> exponent) & 7;
    return static_cast<std::uint8_t>((numerator < 0 ? 0x80 : 0) | (exponent - halvings + 7) << 3 | mantissa);
}

/// The two E4M3 elements of each byte of two codes, the lower four bits first.
using Pairs = std::array<std::array<std::uint8_t, 2>, 256>;

template <class ValueOf>
constexpr Pairs pairsOf(const ValueOf& valueOf) {
    Pairs pairs{};
    for (int byte = 0; byte < 256; ++byte)
        pairs[static_cast<std::size_t>(byte)] = {valueOf(byte & 15), valueOf(byte >> 4)};
    return pairs;
}

/// 0, ½, 1, 1½, 2, 3, 4, 6 and their negatives; −0 is a code.
constexpr Pairs kE2M1 = pairsOf([](int code) -> std::uint8_t {
    constexpr int halves[] = {0, 1, 2, 3, 4, 6, 8, 12};
    return static_cast<std::uint8_t>((code & 8) << 4 | asE4M3(halves[code & 7], 1));
});
/// 0 to 15 stand for −8 to 7.
constexpr Pairs kOffsetBinary = pairsOf([](int code) { return asE4M3(code - 8, 0); });

/// bfloat16 of the integers that a byte is in two's complement, or less 128: it holds all of them.
template <bool isOffset>
constexpr auto integers() {
    std::array<std::uint16_t, 256> all{};
    for (int byte = 0; byte < 256; ++byte) {
        const int number = isOffset ? byte - 128 : byte < 128 ? byte : byte - 256;
        const auto value = static_cast<float>(number);
        all[static_cast<std::size_t>(byte)] =
            static_cast<std::uint16_t>(__builtin_bit_cast(std::uint32_t, value) >> 16);
    }
    return all;
}
constexpr auto kIntegers = integers<false>();
constexpr auto kOffsetIntegers = integers<true>();

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
      gridRows_(blocksOf(what.rows, what.blockRows)),
      gridColumns_(blocksOf(what.columns, what.blockColumns)),
      outputColumns_(columns) {
    if (what.factor != Dequantise::Factor::None) widen(inputs[2], 0, 1, &factor_);
}

void Dequantiser::widen(const Source& source, std::size_t element, std::size_t count, float* out) const {
    const Source from{source.data + element * sizeOf(source.dtype), source.dtype};
    linear(kernels_, {&from, 1}, kOne, {reinterpret_cast<std::byte*>(out), DType::F32}, count);
}

void Dequantiser::fill(std::uint64_t first, std::size_t count, float* out) {
    if (what_.transposed) return fillTransposed(first, count, out);
    for (std::size_t at = 0; at < count;) {
        const std::uint64_t column = (first + at) % what_.columns;
        const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(count - at, what_.columns - column));
        fillRow((first + at) / what_.columns, column, n, out + at);
        at += n;
    }
}

void Dequantiser::fillRow(std::uint64_t row, std::uint64_t column, std::size_t count, float* out) {
    decode(row * what_.stride + column, count, out);
    const std::uint64_t rowOfBlocks = row / what_.rows * gridRows_ + row % what_.rows / what_.blockRows;
    const std::uint64_t block = column / what_.blockColumns, last = (column + count - 1) / what_.blockColumns;
    const float* scales =
        scalesOf(rowOfBlocks * gridColumns_ + block, static_cast<std::size_t>(last - block + 1));
    kernels_.scaleRuns(scales, static_cast<std::size_t>(what_.blockColumns),
                       static_cast<std::size_t>(column % what_.blockColumns), out, count);
}

const float* Dequantiser::scalesOf(std::uint64_t first, std::size_t count) {
    if (ofBlocks_.size() < count) ofBlocks_.resize(count);
    if (what_.scales == Dequantise::Scales::Exponents)
        for (std::size_t i = 0; i < count; ++i)
            ofBlocks_[i] = powerOf(static_cast<std::uint8_t>(scales_.data[first + i]));
    else
        widen(scales_, static_cast<std::size_t>(first), count, ofBlocks_.data());
    for (std::size_t i = 0; i < count; ++i)
        if (what_.factor == Dequantise::Factor::Times)
            ofBlocks_[i] = ofBlocks_[i] * factor_;
        else if (what_.factor == Dequantise::Factor::Divisor)
            ofBlocks_[i] = ofBlocks_[i] / factor_;
    return ofBlocks_.data();
}

void Dequantiser::decode(std::uint64_t first, std::size_t count, float* out) {
    using enum Dequantise::Codes;
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(codes_.data);
    switch (what_.codes) {
        case F8_E4M3:
            return widen({codes_.data, DType::F8_E4M3}, static_cast<std::size_t>(first), count, out);
        case F8_E5M2:
            return widen({codes_.data, DType::F8_E5M2}, static_cast<std::size_t>(first), count, out);
        case I8:
        case U8: {
            const auto& table = what_.codes == I8 ? kIntegers : kOffsetIntegers;
            if (expanded_.size() < 2 * count) expanded_.resize(2 * count);
            for (std::size_t i = 0; i < count; ++i)
                std::memcpy(expanded_.data() + 2 * i, &table[bytes[first + i]], 2);
            return widen({expanded_.data(), DType::BF16}, 0, count, out);
        }
        case E2M1:
        case U4: {
            const Pairs& pairs = what_.codes == E2M1 ? kE2M1 : kOffsetBinary;
            const auto lead = static_cast<std::size_t>(first % 2);
            const std::size_t pairsNeeded = (lead + count + 1) / 2;
            if (expanded_.size() < 2 * pairsNeeded) expanded_.resize(2 * pairsNeeded);
            for (std::size_t i = 0; i < pairsNeeded; ++i)
                std::memcpy(expanded_.data() + 2 * i, pairs[bytes[first / 2 + i]].data(), 2);
            return widen({expanded_.data(), DType::F8_E4M3}, lead, count, out);
        }
    }
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
    const std::uint64_t matrix = outputRow / what_.columns, column = outputRow % what_.columns;
    const std::uint64_t most =
        std::max<std::uint64_t>(1, kDequantisedElements / what_.rows / kRowsTogether) * kRowsTogether;
    const std::uint64_t begin = column / most * most;
    const std::uint64_t rows = std::min(most, what_.columns - begin);
    if (block_ == nullptr)
        block_ = std::make_unique_for_overwrite<float[]>(std::min(most, what_.columns) * what_.rows);
    line_.resize(rows);
    for (std::uint64_t stored = 0; stored < what_.rows; ++stored) {
        fillRow(matrix * what_.rows + stored, begin, static_cast<std::size_t>(rows), line_.data());
        for (std::uint64_t i = 0; i < rows; ++i) block_[i * what_.rows + stored] = line_[i];
    }
    blockFirst_ = matrix * what_.columns + begin;
    blockRows_ = rows;
}

}  // namespace layerloom
