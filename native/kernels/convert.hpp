#pragma once
#include "dtype.hpp"
#include "simd/scalar.hpp"

/// Conversions between dtypes and float32 by the numeric contract (docs/numbers.md), written over each
/// instruction set's struct `V` (simd/scalar.hpp). Widening is exact; rounding is to nearest even, and
/// subnormals are kept.
namespace layerloom {
namespace {

constexpr std::uint32_t kInfinity32 = 0x7F80'0000u;
constexpr std::uint32_t kCanonicalNan32 = 0x7FC0'0000u;

/// Makes NaN canonical, because payloads differ between instruction sets.
template <class V>
typename V::Floats canonical(typename V::Floats x) {
    return V::asFloats(V::select(V::isNan(x), V::ints(kCanonicalNan32), V::asInts(x)));
}

constexpr float powerOfTwo(int exponent) {
    float power = 1;
    for (; exponent > 0; --exponent) power *= 2;
    for (; exponent < 0; ++exponent) power /= 2;
    return power;
}

/// A floating format: one sign bit, E exponent and M mantissa bits, with subnormals. With `ieee`, the last
/// exponent means infinity and NaN; otherwise only all ones are NaN, and there is no infinity.
template <int E, int M, bool ieee>
struct Small {
    static constexpr int mantissaBits = M;
    static constexpr int bias = (1 << (E - 1)) - 1;
    static constexpr bool hasInfinity = ieee;
    static constexpr std::uint32_t sign = 1u << (E + M);
    /// The smallest magnitude that is NaN or infinite.
    static constexpr std::uint32_t special = ieee ? ((1u << E) - 1) << M : sign - 1;
    static constexpr std::uint32_t nan = ieee ? special | 1u << (M - 1) : special;
    static constexpr float smallestNormal = powerOfTwo(1 - bias);
    /// The smallest float32 that rounds beyond the largest number. A value halfway rounds to even: up to
    /// infinity, or for E4M3 down to the largest number.
    static constexpr std::uint32_t beyond =
        ieee ? bitsAs<std::uint32_t>(powerOfTwo(bias) * (2 - powerOfTwo(-M - 1)))
             : bitsAs<std::uint32_t>(powerOfTwo(bias + 1) * (2 - 3 * powerOfTwo(-M - 1))) + 1;
};

template <DType D>
struct Format;
template <>
struct Format<DType::F16> : Small<5, 10, true> {};
template <>
struct Format<DType::F8_E5M2> : Small<5, 2, true> {};
/// The variant for machine learning ("fn").
template <>
struct Format<DType::F8_E4M3> : Small<4, 3, false> {};

/// The smallest float32 that rounds to infinity or NaN.
template <DType D>
constexpr std::uint32_t kBeyond = Format<D>::beyond;
template <>
constexpr std::uint32_t kBeyond<DType::F32> = kInfinity32;
/// A value halfway to the next power of two rounds to even: to infinity.
template <>
constexpr std::uint32_t kBeyond<DType::BF16> = 0x7F7F'8000u;

/// The largest magnitude so far in each lane. It shows NaN and infinity, for two operations per vector.
template <class V>
struct Largest {
    typename V::Ints lanes = V::ints(0);

    [[gnu::always_inline]] void add(typename V::Floats x) { addMagnitude(V::both(V::asInts(x), V::ints(0x7FFF'FFFFu))); }
    [[gnu::always_inline]] void addMagnitude(typename V::Ints magnitude) { lanes = V::larger(lanes, magnitude); }
    std::uint32_t bits() const {
        std::uint32_t each[V::lanes], most = 0;
        V::storeFloats(V::asFloats(lanes), reinterpret_cast<std::byte*>(each));
        for (const std::uint32_t one : each) most = most < one ? one : most;
        return most;
    }
};

// No conversion computes with float32 subnormals, which need microcode and are a hundred times slower. In
// E4M3, most of N(0, 0.02) is subnormal.

template <DType D>
constexpr float widenOne(std::uint32_t bits) {
    using F = Format<D>;
    const std::uint32_t magnitude = bits & (F::sign - 1);
    const std::uint32_t sign = (bits & F::sign) << (8 * (4 - sizeOf(D)));
    const std::uint32_t rebiased = (magnitude << (23 - F::mantissaBits)) + ((127u - F::bias) << 23);
    // Read as a normal number, a subnormal has half its scale and an extra hidden bit: its value is twice
    // that number, less the smallest normal number. A normal number is twice itself, less itself. Each step
    // is exact.
    const auto read = bitsAs<float>(rebiased);
    const float value = read + read - (read > F::smallestNormal ? read : F::smallestNormal);
    const std::uint32_t exponent = magnitude >= F::special ? kInfinity32 : 0;
    return bitsAs<float>(sign | exponent | bitsAs<std::uint32_t>(value));
}

template <DType D>
struct Values {
    float of[256]{};
    constexpr Values() {
        for (std::uint32_t bits = 0; bits < 256; ++bits) of[bits] = widenOne<D>(bits);
    }
};

template <DType D>
constexpr Values<D> kValues;

/// Widens sign-extended 16-bit lanes through float16, whose subnormals convert at full speed.
template <class V, DType D>
void widenTwo(typename V::Ints bytes, typename V::Floats& first, typename V::Floats& second) {
    if constexpr (D == DType::F8_E5M2) {
        // The byte is the upper byte of a float16.
        V::widenHalves(V::both(V::template left<8>(bytes), V::ints(0xFF00'FF00u)), first, second);
    } else {
        static_assert(D == DType::F8_E4M3);
        // In float16's exponent, the value appears times 2⁻⁸.
        const auto halves = V::both(V::template left<7>(bytes), V::ints(0xBF80'BF80u));
        // Only NaN carries into float16's first exponent bit, and so becomes NaN there.
        const auto carry = V::both(V::add(halves, V::ints(0x0080'0080u)), V::ints(0x4000'4000u));
        V::widenHalves(V::either(halves, carry), first, second);
        first = V::multiply(first, V::floats(256));
        second = V::multiply(second, V::floats(256));
    }
}

// Rounding to M mantissa bits adds an anchor: 2^(23 − M) times the power of two at or below the number, at
// least the format's smallest normal number. The sum's last place is the result's, rounded by hardware, and
// its low bits are the mantissa with the hidden bit. Adding the exponent gives the result; a mantissa rounded
// up to a power of two carries into the exponent.

/// The anchor for a sign and exponent, and what to add to the sum's low bits.
struct Rounding {
    float anchor;
    std::uint32_t offset;
};

template <DType D>
struct Roundings {
    /// Indexed by the upper nine bits of a float32.
    Rounding of[512]{};
    constexpr Roundings() {
        using F = Format<D>;
        constexpr std::uint32_t least = 128 - F::bias;
        constexpr std::uint32_t last = 128 + F::bias;
        for (std::uint32_t upper = 0; upper < 512; ++upper) {
            const std::uint32_t sign = upper >> 8;
            const std::uint32_t own = upper & 255;
            const std::uint32_t exponent = own < least ? least : own < last ? own : last;
            of[upper].anchor = bitsAs<float>(sign << 31 | (exponent + 23 - F::mantissaBits) << 23);
            of[upper].offset = sign * F::sign + ((exponent - least) << F::mantissaBits);
        }
    }
};

template <DType D>
constexpr Roundings<D> kRoundings;

/// Returns the result in the lower bits; NaN is canonical.
template <DType D>
std::uint32_t roundOne(float x) {
    using F = Format<D>;
    const auto bits = bitsAs<std::uint32_t>(x);
    const std::uint32_t magnitude = bits & 0x7FFF'FFFFu;
    if (magnitude >= F::beyond) {
        const bool isNan = !F::hasInfinity || magnitude > kInfinity32;
        return isNan ? F::nan : F::special | (bits >> 31) * F::sign;
    }
    const Rounding& rounding = kRoundings<D>.of[bits >> 23];
    return bitsAs<std::uint32_t>(x + rounding.anchor) + rounding.offset;
}

/// Rounds magnitudes to dtype D, in 32-bit lanes; NaN is canonical.
template <class V, DType D>
typename V::Ints roundMagnitudes(typename V::Floats x) {
    using F = Format<D>;
    constexpr int shift = 23 - F::mantissaBits;
    constexpr auto least = bitsAs<std::uint32_t>(F::smallestNormal);
    // The anchor's lower bits also subtract the difference between the exponent biases of float32 and D.
    constexpr std::uint32_t anchorBits = (shift << 23) + ((0u - (least >> shift)) & (F::sign - 1));
    const auto own = V::both(V::asInts(x), V::ints(0x7FFF'FFFFu));
    const auto magnitude = V::smaller(own, V::ints(F::beyond));
    const auto exponent = V::larger(V::both(magnitude, V::ints(kInfinity32)), V::ints(least));
    const auto anchor = V::add(exponent, V::ints(anchorBits));
    const auto sum = V::asInts(V::add(V::asFloats(magnitude), V::asFloats(anchor)));
    const auto biased = V::add(sum, V::template right<shift>(exponent));
    const auto rounded = V::both(biased, V::ints(F::sign - 1));
    if constexpr (F::hasInfinity)
        return V::select(V::isNan(x), V::ints(F::nan), rounded);
    else
        return rounded;
}

/// Adds signs to the four one-byte magnitudes of each 32-bit lane, except to NaN.
template <class V, DType D>
typename V::Ints withSigns(typename V::Ints magnitudes, typename V::Ints signs) {
    const auto places = V::ints(0x8080'8080u);
    // NaN is the largest magnitude, so only NaN reaches the sign bit.
    const auto isNan = V::add(magnitudes, V::ints(0x0101'0101u * (0x80 - Format<D>::nan)));
    return V::either(magnitudes, V::both(V::both(signs, places), V::oneOf(isNan, places)));
}

/// Rounds each float32 to bfloat16, in the upper half of its word; the lower half is undefined. Overflow
/// carries into infinity.
template <class V>
typename V::Ints roundUpperHalf(typename V::Floats x) {
    const auto bits = V::asInts(x);
    const auto odd = V::both(V::template right<16>(bits), V::ints(1));
    return V::add(bits, V::add(odd, V::ints(0x7FFF)));
}

/// Widens to float32. D is not F64; one-byte dtypes only for Scalar.
template <class V, DType D>
typename V::Floats load(const std::byte* at) {
    if constexpr (D == DType::F32) return V::loadFloats(at);
    if constexpr (D == DType::BF16) return V::asFloats(V::template left<16>(V::load16(at)));
    if constexpr (sizeOf(D) == 1) return kValues<D>.of[loadAt<std::uint8_t>(at)];
    if constexpr (D == DType::F16) {
        if constexpr (V::hasHalf)
            return V::loadHalf(at);
        else
            return widenOne<D>(loadAt<std::uint16_t>(at));
    }
}

/// Rounds to dtype D; NaN gives undefined elements. One-byte dtypes only for Scalar.
template <class V, DType D>
void storeNumbers(typename V::Floats x, std::byte* at) {
    if constexpr (D == DType::F32) V::storeFloats(x, at);
    if constexpr (D == DType::BF16) V::store16(V::template right<16>(roundUpperHalf<V>(x)), at);
    if constexpr (sizeOf(D) == 1) storeAt(at, static_cast<std::uint8_t>(roundOne<D>(x)));
    if constexpr (D == DType::F16) {
        if constexpr (V::hasHalf)
            V::storeHalf(x, at);
        else
            storeAt(at, static_cast<std::uint16_t>(roundOne<D>(x)));
    }
}

/// Like `storeNumbers`, with canonical NaN.
template <class V, DType D>
void store(typename V::Floats x, std::byte* at) {
    storeNumbers<V, D>(canonical<V>(x), at);
}

/// Number of vectors side by side, so that additions are independent, and one-byte elements fill a vector.
constexpr std::size_t kAbreast = 4;

/// True if `loadFour` splits pairs of vectors into even and odd elements: each 32-bit word contains one of
/// each.
template <DType In, DType Out>
constexpr bool splitsPairs = In == DType::BF16 && Out == DType::BF16;

/// Loads four vectors in the order of the elements, unless pairs are split.
template <class V, DType In, DType Out>
[[gnu::always_inline]] inline void loadFour(const std::byte* at, typename V::Floats (&x)[kAbreast]) {
    for (std::size_t n = 0; n < kAbreast; n += 2) {
        const std::byte* from = at + n * V::lanes * sizeOf(In);
        if constexpr (splitsPairs<In, Out>) {
            const auto words = V::asInts(V::loadFloats(from));
            x[n] = V::asFloats(V::template left<16>(words));
            x[n + 1] = V::asFloats(V::both(words, V::ints(0xFFFF'0000u)));
        } else if constexpr (sizeOf(In) == 1) {
            widenTwo<V, In>(V::load8(from), x[n], x[n + 1]);
        } else {
            x[n] = load<V, In>(from);
            x[n + 1] = load<V, In>(from + V::lanes * sizeOf(In));
        }
    }
}

/// Stores four vectors arranged as by `loadFour`. NaN gives undefined elements: kernels detect NaN with
/// `Largest` and store such blocks again, so that other blocks cost nothing extra.
template <class V, DType In, DType Out>
[[gnu::always_inline]] inline void storeFour(const typename V::Floats (&x)[kAbreast], std::byte* at) {
    if constexpr (splitsPairs<In, Out>) {
        for (std::size_t n = 0; n < kAbreast; n += 2) {
            const auto even = V::template right<16>(roundUpperHalf<V>(x[n]));
            const auto odd = V::both(roundUpperHalf<V>(x[n + 1]), V::ints(0xFFFF'0000u));
            V::storeFloats(V::asFloats(V::either(even, odd)), at + n * V::lanes * sizeOf(Out));
        }
    } else if constexpr (sizeOf(Out) == 1 && V::lanes > 1) {
        typename V::Ints magnitudes[kAbreast], signs[kAbreast];
        for (std::size_t n = 0; n < kAbreast; ++n) {
            magnitudes[n] = roundMagnitudes<V, Out>(x[n]);
            signs[n] = V::asInts(x[n]);
        }
        V::store8(withSigns<V, Out>(V::pack8(magnitudes), V::pack8(signs)), at);
    } else {
        for (std::size_t n = 0; n < kAbreast; ++n) storeNumbers<V, Out>(x[n], at + n * V::lanes * sizeOf(Out));
    }
}

/// Distance to prefetch ahead, because processors prefetch only within a page.
constexpr std::size_t kAhead = 2048;

template <std::size_t bytes>
[[gnu::always_inline]] inline void fetchAhead(const std::byte* at) {
    constexpr std::size_t line = 64;
    for (std::size_t offset = 0; offset < bytes; offset += line) __builtin_prefetch(at + kAhead + offset);
}

}  // namespace
}  // namespace layerloom
