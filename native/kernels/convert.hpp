#pragma once
#include "dtype.hpp"
#include "simd/scalar.hpp"

/// Conversions between the dtypes and float32 by the numeric contract (docs/numbers.md), written once over
/// the members that every instruction set's struct `V` has (simd/scalar.hpp lists them). Widening is exact;
/// rounding is to nearest, ties to even, with subnormals kept.
namespace layerloom {
namespace {

constexpr std::uint32_t kInfinity32 = 0x7F80'0000u;
constexpr std::uint32_t kCanonicalNan32 = 0x7FC0'0000u;

/// Every computed NaN becomes the positive quiet NaN: payloads differ between instruction sets.
template <class V>
typename V::Floats canonical(typename V::Floats x) {
    return V::asFloats(V::select(V::isNan(x), V::ints(kCanonicalNan32), V::asInts(x)));
}

/// A power of two, in float32's range of normal numbers.
constexpr float powerOfTwo(int exponent) {
    float power = 1;
    for (; exponent > 0; --exponent) power *= 2;
    for (; exponent < 0; ++exponent) power /= 2;
    return power;
}

/// A floating format of one sign bit, E exponent and M mantissa bits with subnormals, narrower than float32.
template <int E, int M>
struct Small {
    static constexpr int bias = (1 << (E - 1)) - 1;
    static constexpr int signShift = 31 - E - M;
    static constexpr std::uint32_t magnitude = (1u << (E + M)) - 1;
    /// The magnitude of infinity, where the format has one.
    static constexpr std::uint32_t infinity = ((1u << E) - 1) << M;
    static constexpr std::uint32_t nan = infinity | (1u << (M - 1));
};

/// The sign, in float32's place, and the magnitude read as a float32 of small exponent, times the power that
/// corrects it.
template <class V, int E, int M>
typename V::Ints widenFinite(typename V::Ints magnitude) {
    const auto small = V::asFloats(V::template left<23 - M>(magnitude));
    return V::asInts(V::multiply(small, V::floats(powerOfTwo(127 - Small<E, M>::bias))));
}

template <class V, int E, int M>
typename V::Floats withSign(typename V::Ints bits, typename V::Ints wide) {
    const auto sign = V::both(V::template left<Small<E, M>::signShift>(bits), V::ints(0x8000'0000u));
    return V::asFloats(V::either(sign, wide));
}

/// Formats whose last exponent means infinity and NaN, as IEEE 754 has it: float16, E5M2.
template <class V, int E, int M>
typename V::Floats widenIeee(typename V::Ints bits) {
    const auto magnitude = V::both(bits, V::ints(Small<E, M>::magnitude));
    const auto special = V::either(V::template left<23 - M>(magnitude), V::ints(kInfinity32));
    const auto isFinite = V::less(magnitude, V::ints(Small<E, M>::infinity));
    return withSign<V, E, M>(bits, V::select(isFinite, widenFinite<V, E, M>(magnitude), special));
}

/// E4M3 as machine learning has it ("fn"): no infinity, and one NaN, of all ones.
template <class V>
typename V::Floats widenE4M3(typename V::Ints bits) {
    const auto magnitude = V::both(bits, V::ints(0x7Fu));
    const auto isNumber = V::less(magnitude, V::ints(0x7Fu));
    return withSign<V, 4, 3>(bits,
                             V::select(isNumber, widenFinite<V, 4, 3>(magnitude), V::ints(kCanonicalNan32)));
}

/// The magnitude of a canonical float32, rounded to E and M bits as if exponents had no end above.
template <class V, int E, int M>
typename V::Ints roundMagnitude(typename V::Ints magnitude) {
    constexpr int shift = 23 - M;
    // Below the smallest normal number, adding a power of two rounds to multiples of the smallest subnormal
    // in hardware.
    constexpr float smallest = powerOfTwo(1 - Small<E, M>::bias);
    const auto anchor = V::floats(powerOfTwo(1 - Small<E, M>::bias - M + 23));
    const auto subnormal = V::subtract(V::asInts(V::add(V::asFloats(magnitude), anchor)), V::asInts(anchor));
    const auto rebiased =
        V::subtract(magnitude, V::ints(static_cast<std::uint32_t>(127 - Small<E, M>::bias) << 23));
    const auto odd = V::both(V::template right<shift>(magnitude), V::ints(1));
    const auto half = V::add(odd, V::ints((1u << (shift - 1)) - 1));
    const auto normal = V::template right<shift>(V::add(rebiased, half));
    return V::select(V::less(magnitude, V::asInts(V::floats(smallest))), subnormal, normal);
}

template <class V, int E, int M>
typename V::Ints signOf(typename V::Ints x) {
    return V::both(V::template right<Small<E, M>::signShift>(x), V::ints(1u << (E + M)));
}

template <class V, int E, int M>
typename V::Ints roundIeee(typename V::Floats x) {
    const auto bits = V::asInts(x);
    const auto magnitude = V::both(bits, V::ints(0x7FFF'FFFFu));
    const auto rounded = roundMagnitude<V, E, M>(magnitude);
    const auto inRange = V::less(rounded, V::ints(Small<E, M>::infinity));
    const auto number =
        V::either(signOf<V, E, M>(bits), V::select(inRange, rounded, V::ints(Small<E, M>::infinity)));
    return V::select(V::isNan(x), V::ints(Small<E, M>::nan), number);
}

/// Beyond the largest number, 448, there is only NaN.
template <class V>
typename V::Ints roundE4M3(typename V::Floats x) {
    const auto bits = V::asInts(x);
    const auto rounded = roundMagnitude<V, 4, 3>(V::both(bits, V::ints(0x7FFF'FFFFu)));
    const auto inRange = V::less(rounded, V::ints(0x7Fu));
    return V::select(inRange, V::either(signOf<V, 4, 3>(bits), rounded), V::ints(0x7Fu));
}

/// bfloat16 is the upper half of a float32: this rounds it, and leaves the lower half undefined. Overflow
/// carries into infinity by itself.
template <class V>
typename V::Ints roundUpperHalf(typename V::Floats x) {
    const auto bits = V::asInts(x);
    const auto odd = V::both(V::template right<16>(bits), V::ints(1));
    return V::add(bits, V::add(odd, V::ints(0x7FFF)));
}

/// `V::lanes` elements of dtype D, widened to float32. D is not F64.
template <class V, DType D>
typename V::Floats load(const std::byte* at) {
    if constexpr (D == DType::F32) return V::loadFloats(at);
    if constexpr (D == DType::BF16) return V::asFloats(V::template left<16>(V::load16(at)));
    if constexpr (D == DType::F8_E4M3) return widenE4M3<V>(V::load8(at));
    if constexpr (D == DType::F8_E5M2) return widenIeee<V, 5, 2>(V::load8(at));
    if constexpr (D == DType::F16) {
        if constexpr (V::hasHalf)
            return V::loadHalf(at);
        else
            return widenIeee<V, 5, 10>(V::load16(at));
    }
}

/// Rounds `V::lanes` canonical float32 into elements of dtype D. D is not F64.
template <class V, DType D>
void store(typename V::Floats x, std::byte* at) {
    if constexpr (D == DType::F32) V::storeFloats(x, at);
    if constexpr (D == DType::BF16) V::store16(V::template right<16>(roundUpperHalf<V>(x)), at);
    if constexpr (D == DType::F8_E4M3) V::store8(roundE4M3<V>(x), at);
    if constexpr (D == DType::F8_E5M2) V::store8(roundIeee<V, 5, 2>(x), at);
    if constexpr (D == DType::F16) {
        if constexpr (V::hasHalf)
            V::storeHalf(x, at);
        else
            V::store16(roundIeee<V, 5, 10>(x), at);
    }
}

/// Two vectors of consecutive elements. From BF16 to BF16 the even elements are one vector and the odd ones
/// the other: as each 32-bit word holds one of both, neither way needs a shuffle. All else is in order.
template <class V, DType In, DType Out>
void loadTwo(const std::byte* at, typename V::Floats (&x)[2]) {
    if constexpr (In == DType::BF16 && Out == DType::BF16) {
        const auto words = V::asInts(V::loadFloats(at));
        x[0] = V::asFloats(V::template left<16>(words));
        x[1] = V::asFloats(V::both(words, V::ints(0xFFFF'0000u)));
    } else {
        x[0] = load<V, In>(at);
        x[1] = load<V, In>(at + V::lanes * sizeOf(In));
    }
}

/// Rounds two vectors, arranged as `loadTwo` arranges them.
template <class V, DType In, DType Out>
void storeTwo(const typename V::Floats (&x)[2], std::byte* at) {
    const auto first = canonical<V>(x[0]);
    const auto second = canonical<V>(x[1]);
    if constexpr (In == DType::BF16 && Out == DType::BF16) {
        const auto even = V::template right<16>(roundUpperHalf<V>(first));
        const auto odd = V::both(roundUpperHalf<V>(second), V::ints(0xFFFF'0000u));
        V::storeFloats(V::asFloats(V::either(even, odd)), at);
    } else {
        store<V, Out>(first, at);
        store<V, Out>(second, at + V::lanes * sizeOf(Out));
    }
}

}  // namespace
}  // namespace layerloom
