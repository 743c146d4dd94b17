#include "unpacker.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace layerloom {
namespace {

std::uint8_t byteAt(const std::byte* at) { return static_cast<std::uint8_t>(*at); }

/// Converts a float16 exactly.
float halfAt(const std::byte* at) {
    const std::uint32_t half = byteAt(at) | byteAt(at + 1) << 8;
    const std::uint32_t sign = (half & 0x8000u) << 16, rest = half & 0x7FFFu;
    // Subnormals are multiples of 2^-24.
    if (rest < 0x400u) {
        const float magnitude = static_cast<float>(rest) * 0x1p-24f;
        return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
    }
    const std::uint32_t exponent = rest >= 0x7C00u ? 0x7F80'0000u : (rest << 13) + (112u << 23);
    return std::bit_cast<float>(sign | exponent | (rest & 0x3FFu) << 13);
}

/// Returns an element's lower bits. Lower halves of bytes hold the first 16 of 32 elements, upper halves the
/// others.
std::uint8_t halfByte(const std::byte* codes, std::size_t i) {
    return i < 16 ? byteAt(codes + i) & 15 : byteAt(codes + i - 16) >> 4;
}

/// Unpacks 32 elements: a scale, perhaps a minimum, perhaps the fifth bits, then the lower four bits.
template <bool five, bool hasLeast>
void unpack32(const std::byte* block, float* out) {
    const float scale = halfAt(block);
    const float least = hasLeast ? halfAt(block + 2) : 0;
    const std::byte* at = block + (hasLeast ? 4 : 2);
    const std::byte* const codes = at + (five ? 4 : 0);
    constexpr int zero = hasLeast ? 0 : five ? 16 : 8;
    for (std::size_t i = 0; i < 32; ++i) {
        const int upper = five ? (byteAt(at + i / 8) >> (i % 8) & 1) << 4 : 0;
        const float product = scale * static_cast<float>((halfByte(codes, i) | upper) - zero);
        out[i] = hasLeast ? product + least : product;
    }
}

void unpackQ8_0(const std::byte* block, float* out) {
    const float scale = halfAt(block);
    for (std::size_t i = 0; i < 32; ++i)
        out[i] = scale * static_cast<float>(static_cast<std::int8_t>(byteAt(block + 2 + i)));
}

/// Unpacks 256 elements in eight parts. The 6-bit scales and minimums of the parts are in `kScales` bytes
/// after the two scales of the block.
template <bool five>
void unpackK(const std::byte* block, float* out) {
    constexpr std::size_t kScales = 12;
    const float scale = halfAt(block), leastScale = halfAt(block + 2);
    const std::byte* const packed = block + 4;
    const std::byte* const fifth = packed + kScales;
    const std::byte* const codes = fifth + (five ? 32 : 0);
    for (std::size_t part = 0; part < 8; ++part) {
        // The upper two bits of the last four parts are in the bytes of the first four.
        const std::uint8_t a = byteAt(packed + part % 4), b = byteAt(packed + 4 + part % 4);
        const std::uint8_t c = byteAt(packed + 8 + part % 4);
        const int of = part < 4 ? a & 63 : (c & 15) | (a >> 6) << 4;
        const int ofLeast = part < 4 ? b & 63 : c >> 4 | (b >> 6) << 4;
        const float times = scale * static_cast<float>(of);
        const float least = leastScale * static_cast<float>(ofLeast);
        const std::byte* const from = codes + part / 2 * 32;
        float* const to = out + part * 32;
        for (std::size_t i = 0; i < 32; ++i) {
            const std::uint8_t byte = byteAt(from + i);
            const int code = part % 2 == 0 ? byte & 15 : byte >> 4;
            const int upper = five ? (byteAt(fifth + i) >> part & 1) << 4 : 0;
            to[i] = times * static_cast<float>(code | upper) - least;
        }
    }
}

/// Unpacks 256 elements in two halves of four quarters: four bits of each element, two more bits, a scale for
/// every 16 elements, and the scale of these scales.
void unpackQ6_K(const std::byte* block, float* out) {
    const std::byte* const upperBits = block + 128;
    const std::byte* const scales = upperBits + 64;
    const float scale = halfAt(scales + 16);
    for (std::size_t quarter = 0; quarter < 8; ++quarter) {
        const std::size_t half = quarter / 4, in = quarter % 4;
        const std::byte* const lower = block + half * 64 + in % 2 * 32;
        const std::byte* const upper = upperBits + half * 32;
        for (std::size_t i = 0; i < 32; ++i) {
            const std::size_t element = quarter * 32 + i;
            const float times =
                scale * static_cast<float>(static_cast<std::int8_t>(byteAt(scales + element / 16)));
            const int code = in < 2 ? byteAt(lower + i) & 15 : byteAt(lower + i) >> 4;
            const int bits = byteAt(upper + i) >> (2 * in) & 3;
            out[element] = times * static_cast<float>((code | bits << 4) - 32);
        }
    }
}

void unpackBlock(Unpack::Type type, const std::byte* block, float* out) {
    using enum Unpack::Type;
    switch (type) {
        case Q4_0:
            return unpack32<false, false>(block, out);
        case Q4_1:
            return unpack32<false, true>(block, out);
        case Q5_0:
            return unpack32<true, false>(block, out);
        case Q5_1:
            return unpack32<true, true>(block, out);
        case Q8_0:
            return unpackQ8_0(block, out);
        case Q4_K:
            return unpackK<false>(block, out);
        case Q5_K:
            return unpackK<true>(block, out);
        case Q6_K:
            return unpackQ6_K(block, out);
        // Kernels read these dtypes directly.
        case F32:
        case F16:
        case BF16:
            return;
    }
}

constexpr DType dtypeOf(Unpack::Type type) {
    return type == Unpack::Type::F32 ? DType::F32 : type == Unpack::Type::F16 ? DType::F16 : DType::BF16;
}

}  // namespace

Unpacker::Unpacker(const Kernels& kernels, const Unpack& what, const std::byte* bytes)
    : kernels_(kernels), what_(what), bytes_(bytes), block_(what.block()) {}

void Unpacker::fill(std::uint64_t first, std::size_t count, float* out) {
    const std::uint64_t rowBytes = what_.width / what_.block() * what_.blockBytes();
    for (std::size_t at = 0; at < count;) {
        const std::uint64_t row = (first + at) / what_.width, column = (first + at) % what_.width;
        const std::size_t n = std::min<std::uint64_t>(count - at, what_.width - column);
        fillRow(bytes_ + what_.storedRow(row) * rowBytes, column, n, out + at);
        at += n;
    }
    // Does not add 0, which would turn −0 into 0.
    if (what_.plus != 0)
        for (std::size_t i = 0; i < count; ++i) out[i] += what_.plus;
}

void Unpacker::fillRow(const std::byte* row, std::uint64_t column, std::size_t count, float* out) {
    const std::uint64_t block = what_.block();
    if (block == 1) {
        const Source source{row + column * what_.blockBytes(), dtypeOf(what_.type)};
        linear(kernels_, {&source, 1}, kOne, {reinterpret_cast<std::byte*>(out), DType::F32}, count);
        return;
    }
    for (std::size_t at = 0; at < count;) {
        const std::byte* const from = row + (column + at) / block * what_.blockBytes();
        const std::uint64_t into = (column + at) % block;
        const std::size_t n = std::min<std::uint64_t>(count - at, block - into);
        float* const to = n == block ? out + at : block_.data();
        unpackBlock(what_.type, from, to);
        if (n < block) std::copy_n(block_.begin() + static_cast<std::ptrdiff_t>(into), n, out + at);
        at += n;
    }
}

}  // namespace layerloom
