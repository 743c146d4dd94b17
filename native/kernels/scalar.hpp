#pragma once
#include <cstdint>
#include <cstring>

#include "dtype.hpp"

/// Conversions of one element, by the numeric contract (docs/numbers.md). They define the bits that every
/// instruction set must give, and finish the elements that do not fill a vector.
///
/// Everything here has internal linkage on purpose: this text is compiled once for each instruction set, and
/// a shared inline function could be resolved to a copy that the running processor cannot execute.
namespace layerloom {
namespace {

template <class To, class From>
To bitsAs(const From& from) {
    static_assert(sizeof(To) == sizeof(From));
    To to;
    std::memcpy(&to, &from, sizeof(To));
    return to;
}

/// Reads a value at any alignment: tensors start wherever a safetensors header ends.
template <class T>
T loadAt(const std::byte* at) {
    T value;
    std::memcpy(&value, at, sizeof(T));
    return value;
}

template <class T>
void storeAt(std::byte* at, T value) {
    std::memcpy(at, &value, sizeof(T));
}

constexpr std::uint32_t kCanonicalNan32 = 0x7FC0'0000u;
constexpr std::uint64_t kCanonicalNan64 = 0x7FF8'0000'0000'0000ull;

/// Every computed NaN becomes the positive quiet NaN: payloads differ between instruction sets.
inline float canonical(float x) { return x != x ? bitsAs<float>(kCanonicalNan32) : x; }
inline double canonical(double x) { return x != x ? bitsAs<double>(kCanonicalNan64) : x; }

inline float fromBf16(std::uint16_t h) { return bitsAs<float>(static_cast<std::uint32_t>(h) << 16); }

/// Nearest, ties to even; subnormals kept; overflow to infinity. `x` is canonical.
inline std::uint16_t toBf16(float x) {
    const auto u = bitsAs<std::uint32_t>(x);
    return static_cast<std::uint16_t>((u + 0x7FFFu + ((u >> 16) & 1u)) >> 16);
}

inline float fromF16(std::uint16_t h) {
    const std::uint32_t sign = static_cast<std::uint32_t>(h & 0x8000u) << 16;
    const std::uint32_t magnitude = h & 0x7FFFu;
    if (magnitude >= 0x7C00u) {  // infinity, or NaN with its payload, made quiet as hardware does
        const std::uint32_t quiet = magnitude > 0x7C00u ? 0x0040'0000u : 0u;
        return bitsAs<float>(sign | 0x7F80'0000u | quiet | ((magnitude & 0x03FFu) << 13));
    }
    if (magnitude < 0x0400u) {  // zero or subnormal: a multiple of 2^-24, exact in float32
        const float value = static_cast<float>(magnitude) * 0x1p-24f;
        return bitsAs<float>(sign | bitsAs<std::uint32_t>(value));
    }
    return bitsAs<float>(sign | ((magnitude << 13) + 0x3800'0000u));
}

/// Nearest, ties to even; subnormals kept; overflow to infinity. `x` is canonical.
inline std::uint16_t toF16(float x) {
    const auto u = bitsAs<std::uint32_t>(x);
    const auto sign = static_cast<std::uint16_t>((u >> 16) & 0x8000u);
    const std::uint32_t magnitude = u & 0x7FFF'FFFFu;
    if (magnitude > 0x7F80'0000u) return 0x7E00u;
    if (magnitude >= 0x4780'0000u) return static_cast<std::uint16_t>(sign | 0x7C00u);  // 65536 and above
    if (magnitude < 0x3880'0000u) {  // below 2^-14: adding 0.5 rounds to the multiples of 2^-24 in hardware
        const float shifted = bitsAs<float>(magnitude) + 0.5f;
        return static_cast<std::uint16_t>(sign | (bitsAs<std::uint32_t>(shifted) - 0x3F00'0000u));
    }
    const std::uint32_t odd = (magnitude >> 13) & 1u;
    return static_cast<std::uint16_t>(sign | ((magnitude - 0x3800'0000u + 0x0FFFu + odd) >> 13));
}

/// float64 to float32, rounded to odd: the inexact result keeps a last bit of 1, so that rounding it once
/// more to 16 bits gives what one rounding from float64 would.
inline float toF32Odd(double x) {
    const auto nearest = static_cast<float>(x);
    if (static_cast<double>(nearest) == x || x != x) return nearest;
    auto u = bitsAs<std::uint32_t>(nearest);
    if (u & 1u) return nearest;
    // The two float32 neighbours of x are the even `nearest` and the odd one on the other side of x.
    const bool away = (x < 0 ? -x : x) > static_cast<double>(nearest < 0 ? -nearest : nearest);
    u += away ? 1u : static_cast<std::uint32_t>(-1);
    return bitsAs<float>(u);
}

/// One element of dtype D, widened exactly. D is not F64.
template <DType D>
float loadOne(const std::byte* at) {
    if constexpr (D == DType::BF16) return fromBf16(loadAt<std::uint16_t>(at));
    if constexpr (D == DType::F16) return fromF16(loadAt<std::uint16_t>(at));
    if constexpr (D == DType::F32) return loadAt<float>(at);
}

/// Rounds a canonical value into one element of dtype D. D is not F64.
template <DType D>
void storeOne(float x, std::byte* at) {
    if constexpr (D == DType::BF16) storeAt(at, toBf16(x));
    if constexpr (D == DType::F16) storeAt(at, toF16(x));
    if constexpr (D == DType::F32) storeAt(at, x);
}

}  // namespace
}  // namespace layerloom
