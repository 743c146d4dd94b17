#pragma once
#include <immintrin.h>

#include "scalar.hpp"

namespace layerloom {
namespace {

/// AVX2, FMA and F16C: eight lanes.
struct Avx2 {
    using Floats = __m256;
    using Ints = __m256i;
    using Mask = __m256i;
    struct Wide {
        __m256d low, high;
    };
    struct Longs {
        __m256i even, odd;
    };
    static constexpr std::size_t lanes = 8;
    static constexpr std::size_t registers = 16;
    static constexpr bool hasHalf = true;

    static Floats floats(float x) { return _mm256_set1_ps(x); }
    static Ints ints(std::uint32_t x) { return _mm256_set1_epi32(static_cast<int>(x)); }
    static Floats multiply(Floats a, Floats b) { return _mm256_mul_ps(a, b); }
    static Floats add(Floats a, Floats b) { return _mm256_add_ps(a, b); }
    static Floats subtract(Floats a, Floats b) { return _mm256_sub_ps(a, b); }
    static Floats addWhere(Mask mask, Floats a, Floats b) {
        return _mm256_add_ps(a, _mm256_and_ps(_mm256_castsi256_ps(mask), b));
    }
    static Floats divide(Floats a, Floats b) { return _mm256_div_ps(a, b); }
    static Ints add(Ints a, Ints b) { return _mm256_add_epi32(a, b); }
    static Ints subtract(Ints a, Ints b) { return _mm256_sub_epi32(a, b); }
    static Ints both(Ints a, Ints b) { return _mm256_and_si256(a, b); }
    static Ints either(Ints a, Ints b) { return _mm256_or_si256(a, b); }
    static Ints oneOf(Ints a, Ints b) { return _mm256_xor_si256(a, b); }
    template <int N>
    static Ints left(Ints a) {
        return _mm256_slli_epi32(a, N);
    }
    template <int N>
    static Ints right(Ints a) {
        return _mm256_srli_epi32(a, N);
    }
    static Ints smaller(Ints a, Ints b) { return _mm256_min_epu32(a, b); }
    static Ints larger(Ints a, Ints b) { return _mm256_max_epu32(a, b); }
    static Mask less(Ints a, Ints b) { return _mm256_cmpgt_epi32(b, a); }
    static Mask lessUnsigned(Ints a, Ints b) {
        const Ints sign = ints(0x8000'0000u);
        return less(oneOf(a, sign), oneOf(b, sign));
    }
    static Mask atMost(Ints a, Ints b) { return equal(smaller(a, b), a); }
    static Mask equal(Ints a, Ints b) { return _mm256_cmpeq_epi32(a, b); }
    static Mask greater(Floats a, Floats b) { return asInts(_mm256_cmp_ps(a, b, _CMP_GT_OQ)); }
    static std::uint32_t bits(Mask mask) {
        return static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(mask)));
    }
    static Mask isNan(Floats a) { return _mm256_castps_si256(_mm256_cmp_ps(a, a, _CMP_UNORD_Q)); }
    static Ints select(Mask mask, Ints a, Ints b) { return _mm256_blendv_epi8(b, a, mask); }
    static Ints count(Ints total, Mask mask) { return subtract(total, mask); }

    static Wide wides(double x) { return {_mm256_set1_pd(x), _mm256_set1_pd(x)}; }
    static Wide widen(Floats a) {
        return {_mm256_cvtps_pd(_mm256_castps256_ps128(a)), _mm256_cvtps_pd(_mm256_extractf128_ps(a, 1))};
    }
    static Wide multiply(Wide a, Wide b) {
        return {_mm256_mul_pd(a.low, b.low), _mm256_mul_pd(a.high, b.high)};
    }
    static Wide add(Wide a, Wide b) { return {_mm256_add_pd(a.low, b.low), _mm256_add_pd(a.high, b.high)}; }
    static Wide larger(Wide a, Wide b) {
        return {_mm256_max_pd(a.low, b.low), _mm256_max_pd(a.high, b.high)};
    }
    static Wide loadWide(const double* at) { return {_mm256_loadu_pd(at), _mm256_loadu_pd(at + 4)}; }
    static void storeWide(Wide a, double* at) {
        _mm256_storeu_pd(at, a.low);
        _mm256_storeu_pd(at + 4, a.high);
    }

    static Longs longs(std::uint64_t x) {
        const __m256i all = _mm256_set1_epi64x(static_cast<long long>(x));
        return {all, all};
    }
    static Longs steps(std::uint64_t step) {
        const auto at = [step](std::uint64_t lane) { return static_cast<long long>(lane * step); };
        return {_mm256_setr_epi64x(at(0), at(2), at(4), at(6)), _mm256_setr_epi64x(at(1), at(3), at(5), at(7))};
    }
    static Longs add(Longs a, Longs b) {
        return {_mm256_add_epi64(a.even, b.even), _mm256_add_epi64(a.odd, b.odd)};
    }
    static Longs multiply(Longs a, std::uint64_t by) { return {product(a.even, by), product(a.odd, by)}; }
    template <int N>
    static Longs fold(Longs a) {
        return {oneOf(a.even, _mm256_srli_epi64(a.even, N)), oneOf(a.odd, _mm256_srli_epi64(a.odd, N))};
    }
    /// Adds upper halves of even and odd lanes together.
    static Ints upperProduct(Longs a, std::uint64_t by) {
        constexpr int odd = 0b1010'1010, swapped = 0b1011'0001;
        const __m256i whole = wholeOf(by), turned = turnedOf(by);
        const __m256i even = _mm256_mullo_epi32(a.even, turned), others = _mm256_mullo_epi32(a.odd, turned);
        const __m256i across = add(_mm256_blend_epi32(even, others, odd),
                                   _mm256_shuffle_epi32(_mm256_blend_epi32(others, even, odd), swapped));
        const __m256i upper = _mm256_srli_epi64(_mm256_mul_epu32(a.even, whole), 32);
        return add(across, _mm256_blend_epi32(upper, _mm256_mul_epu32(a.odd, whole), odd));
    }

    static Ints asInts(Floats a) { return _mm256_castps_si256(a); }
    static Floats asFloats(Ints a) { return _mm256_castsi256_ps(a); }

    static Floats loadFloats(const std::byte* at) {
        return _mm256_loadu_ps(reinterpret_cast<const float*>(at));
    }
    static void storeFloats(Floats a, std::byte* at) { _mm256_storeu_ps(reinterpret_cast<float*>(at), a); }
    static Ints load16(const std::byte* at) { return _mm256_cvtepu16_epi32(load128(at)); }
    static Ints load8(const std::byte* at) { return _mm256_cvtepi8_epi16(load128(at)); }
    static void store16(Ints a, std::byte* at) { store128(packed16(a), at); }
    static Ints pack8(const Ints (&a)[4]) {
        return _mm256_packs_epi16(_mm256_packs_epi32(a[0], a[1]), _mm256_packs_epi32(a[2], a[3]));
    }
    static void store8(Ints packed, std::byte* at) {
        // Packing works within 128-bit halves, each with four elements of each vector.
        const Ints order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(at), _mm256_permutevar8x32_epi32(packed, order));
    }
    static Floats loadHalf(const std::byte* at) { return _mm256_cvtph_ps(load128(at)); }
    static void widenHalves(Ints halves, Floats& first, Floats& second) {
        first = _mm256_cvtph_ps(_mm256_castsi256_si128(halves));
        second = _mm256_cvtph_ps(_mm256_extracti128_si256(halves, 1));
    }
    static void storeHalf(Floats a, std::byte* at) {
        store128(_mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC), at);
    }

  private:
    /// Multiplies modulo 2⁶⁴, by products of halves.
    static __m256i product(__m256i a, std::uint64_t by) {
        const __m256i whole = wholeOf(by), across = _mm256_mullo_epi32(a, turnedOf(by));
        const __m256i sums = _mm256_add_epi32(across, _mm256_slli_epi64(across, 32));
        const __m256i upper = _mm256_and_si256(sums, _mm256_set1_epi64x(static_cast<long long>(0xFFFF'FFFFull << 32)));
        return _mm256_add_epi64(_mm256_mul_epu32(a, whole), upper);
    }
    static __m256i wholeOf(std::uint64_t x) { return _mm256_set1_epi64x(static_cast<long long>(x)); }
    static __m256i turnedOf(std::uint64_t x) { return wholeOf(x << 32 | x >> 32); }
    static __m128i load128(const std::byte* at) {
        return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    }
    static void store128(__m128i a, std::byte* at) { _mm_storeu_si128(reinterpret_cast<__m128i*>(at), a); }
    /// Packing works within 128-bit halves, so the result is the first and third quarter.
    static __m128i packed16(Ints a) {
        return _mm256_castsi256_si128(_mm256_permute4x64_epi64(_mm256_packus_epi32(a, a), 0b1000));
    }
};

}  // namespace
}  // namespace layerloom
