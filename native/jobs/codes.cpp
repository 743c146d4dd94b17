#include "codes.hpp"

#include <array>
#include <cstring>
#include <span>

namespace layerloom {
namespace {

using Table = std::array<float, 16>;

using Pairs = std::array<std::array<float, 2>, 256>;

constexpr Pairs pairsOf(const Table& numbers, bool upperFirst) {
    Pairs pairs{};
    for (std::size_t byte = 0; byte < 256; ++byte) {
        const float lower = numbers[byte & 15], upper = numbers[byte >> 4];
        pairs[byte] = upperFirst ? std::array{upper, lower} : std::array{lower, upper};
    }
    return pairs;
}

/// 0, ½, 1, 1½, 2, 3, 4, 6, then their negatives; −0 is a code too.
constexpr Table kE2M1{0, .5f, 1, 1.5f, 2, 3, 4, 6, -0.f, -.5f, -1, -1.5f, -2, -3, -4, -6};
/// Codes 0 to 15 are −8 to 7.
constexpr Table kU4{-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7};
/// Quantiles of a normal distribution (arXiv 2305.14314, appendix E; bitsandbytes).
constexpr Table kNF4{-1.0f,
                     -0.6961928009986877f,
                     -0.5250730514526367f,
                     -0.39491748809814453f,
                     -0.28444138169288635f,
                     -0.18477343022823334f,
                     -0.09105003625154495f,
                     0.0f,
                     0.07958029955625534f,
                     0.16093020141124725f,
                     0.24611230194568634f,
                     0.33791524171829224f,
                     0.44070982933044434f,
                     0.5626170039176941f,
                     0.7229568362236023f,
                     1.0f};
/// bitsandbytes' 4-bit floats, divided by 12, the largest.
constexpr Table kFP4{0.f / 12,  0.0625f / 12, 8.f / 12,  12.f / 12,     4.f / 12,  6.f / 12,
                     2.f / 12,  3.f / 12,     -0.f / 12, -0.0625f / 12, -8.f / 12, -12.f / 12,
                     -4.f / 12, -6.f / 12,    -2.f / 12, -3.f / 12};

/// Tables of Codes::Kind, from E2M1 on.
constexpr Table kTables[] = {kE2M1, kU4, kNF4, kFP4};
constexpr Pairs kPairs[][2] = {{pairsOf(kE2M1, false), pairsOf(kE2M1, true)},
                               {pairsOf(kU4, false), pairsOf(kU4, true)},
                               {pairsOf(kNF4, false), pairsOf(kNF4, true)},
                               {pairsOf(kFP4, false), pairsOf(kFP4, true)}};

std::size_t tableOf(Codes::Kind kind) {
    return static_cast<std::size_t>(kind) - static_cast<std::size_t>(Codes::Kind::E2M1);
}

void decodePairs(const Pairs& pairs, const std::uint8_t* bytes, std::uint64_t first, std::size_t count,
                 float* out) {
    bytes += first / 2;
    if (first % 2 == 1 && count > 0) {
        *out++ = pairs[*bytes++][1];
        --count;
    }
    for (std::size_t i = 0; i < count / 2; ++i)
        std::memcpy(out + 2 * i, pairs[bytes[i]].data(), 2 * sizeof(float));
    if (count % 2 == 1) out[count - 1] = pairs[bytes[count / 2]][0];
}

std::uint32_t wordAt(const std::byte* data, std::uint64_t index) {
    std::uint32_t word;
    std::memcpy(&word, data + 4 * index, sizeof word);
    return word;
}

std::uint64_t rowOfWords(const Codes& codes, std::uint64_t row) {
    const std::uint64_t each = codes.inWord();
    return row / codes.rows * ((codes.rows + each - 1) / each) + row % codes.rows / each;
}

void decodeDown(const Codes& codes, const std::byte* data, std::uint64_t row, std::uint64_t column,
                std::size_t count, float* out) {
    data += 4 * (rowOfWords(codes, row) * codes.stride + column);
    const auto shift = static_cast<int>(row % codes.rows % codes.inWord() * codes.bits());
    if (codes.bits() == 8) {
        const int offset = codes.kind == Codes::Kind::U8 ? 128 : 0;
        for (std::size_t i = 0; i < count; ++i) {
            const auto byte = static_cast<int>(wordAt(data, i) >> shift & 0xFF);
            out[i] = static_cast<float>(offset == 0 && byte > 127 ? byte - 256 : byte - offset);
        }
    } else if (codes.kind == Codes::Kind::U4) {
        for (std::size_t i = 0; i < count; ++i)
            out[i] = static_cast<float>(static_cast<int>(wordAt(data, i) >> shift & 15) - 8);
    } else {
        const Table& table = kTables[tableOf(codes.kind)];
        for (std::size_t i = 0; i < count; ++i) out[i] = table[wordAt(data, i) >> shift & 15];
    }
}

/// Decodes words of eight codes: columns 0, 2, 4, 6, 1, 3, 5, 7, from the lowest bits on.
void decodeInterleaved(const Codes& codes, const std::byte* data, std::uint64_t first, std::size_t count,
                       float* out) {
    const Table& table = kTables[tableOf(codes.kind)];
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t at = first + i, place = at % 8;
        const std::uint64_t nibble = place / 2 + (place % 2 == 0 ? 0 : 4);
        out[i] = table[wordAt(data, at / 8) >> (4 * nibble) & 15];
    }
}

}  // namespace

void decode(const Kernels& kernels, const Codes& codes, const std::byte* data, std::uint64_t row,
            std::uint64_t column, std::size_t count, float* out) {
    using enum Codes::Kind;
    if (codes.order == Codes::Order::Down) return decodeDown(codes, data, row, column, count, out);
    const std::uint64_t first = row * codes.stride + column;
    if (codes.order == Codes::Order::Interleaved) return decodeInterleaved(codes, data, first, count, out);
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(data);
    switch (codes.kind) {
        case F8_E4M3:
        case F8_E5M2: {
            constexpr double one[] = {1};
            const Source from{data + first, codes.kind == F8_E4M3 ? DType::F8_E4M3 : DType::F8_E5M2};
            linear(kernels, {&from, 1}, one, {reinterpret_cast<std::byte*>(out), DType::F32}, count);
            return;
        }
        case I8:
            for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<std::int8_t>(bytes[first + i]);
            return;
        case U8:
            for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<float>(bytes[first + i] - 128);
            return;
        case E2M1:
        case U4:
        case NF4:
        case FP4:
            return decodePairs(kPairs[tableOf(codes.kind)][codes.order == Codes::Order::Swapped ? 1 : 0],
                               bytes, first, count, out);
    }
}

std::span<const std::byte> bytesOf(const Codes& codes, const std::byte* data, std::uint64_t row,
                                   std::uint64_t column, std::size_t count) {
    if (codes.order == Codes::Order::Down)
        return {data + 4 * (rowOfWords(codes, row) * codes.stride + column), 4 * count};
    const std::uint64_t first = row * codes.stride + column, each = 8 / codes.bits();
    return {data + first / each, (count + each - 1) / each};
}

}  // namespace layerloom
