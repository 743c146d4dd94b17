#pragma once
#include <immintrin.h>

#include "scalar.hpp"

namespace layerloom {
namespace {

/// AVX-512 F, BW, DQ and VL: sixteen lanes. Does not use the conversion of AVX512-BF16, which flushes
/// subnormals to zero.
struct Avx512 {
    using Floats = __m512;
    using Ints = __m512i;
    using Mask = __mmask16;
    struct Wide {
        __m512d low, high;
    };
    struct Longs {
        __m512i even, odd;
    };
    static constexpr std::size_t lanes = 16;
    static constexpr std::size_t registers = 32;
    static constexpr bool hasHalf = true;

    static Floats floats(float x) { return _mm512_set1_ps(x); }
    static Ints ints(std::uint32_t x) { return _mm512_set1_epi32(static_cast<int>(x)); }
    static Floats multiply(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
    static Floats add(Floats a, Floats b) { return _mm512_add_ps(a, b); }
    static Floats subtract(Floats a, Floats b) { return _mm512_sub_ps(a, b); }
    static Floats addWhere(Mask mask, Floats a, Floats b) { return _mm512_mask_add_ps(a, mask, a, b); }
    static Floats divide(Floats a, Floats b) { return _mm512_div_ps(a, b); }
    static Ints add(Ints a, Ints b) { return _mm512_add_epi32(a, b); }
    static Ints subtract(Ints a, Ints b) { return _mm512_sub_epi32(a, b); }
    static Ints both(Ints a, Ints b) { return _mm512_and_si512(a, b); }
    static Ints either(Ints a, Ints b) { return _mm512_or_si512(a, b); }
    static Ints oneOf(Ints a, Ints b) { return _mm512_xor_si512(a, b); }
    template <int N>
    static Ints left(Ints a) {
        return _mm512_slli_epi32(a, N);
    }
    template <int N>
    static Ints right(Ints a) {
        return _mm512_srli_epi32(a, N);
    }
    static Ints smaller(Ints a, Ints b) { return _mm512_min_epu32(a, b); }
    static Ints larger(Ints a, Ints b) { return _mm512_max_epu32(a, b); }
    static Mask less(Ints a, Ints b) { return _mm512_cmplt_epi32_mask(a, b); }
    static Mask lessUnsigned(Ints a, Ints b) { return _mm512_cmplt_epu32_mask(a, b); }
    static Mask atMost(Ints a, Ints b) { return _mm512_cmple_epu32_mask(a, b); }
    static Mask equal(Ints a, Ints b) { return _mm512_cmpeq_epi32_mask(a, b); }
    static Mask greater(Floats a, Floats b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ); }
    static std::uint32_t bits(Mask mask) { return mask; }
    static Mask isNan(Floats a) { return _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q); }
    static Ints select(Mask mask, Ints a, Ints b) { return _mm512_mask_mov_epi32(b, mask, a); }
    static Ints count(Ints total, Mask mask) { return _mm512_mask_add_epi32(total, mask, total, ints(1)); }

    static Wide wides(double x) { return {_mm512_set1_pd(x), _mm512_set1_pd(x)}; }
    static Wide widen(Floats a) {
        const auto high = _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(a), 1));
        return {_mm512_cvtps_pd(_mm512_castps512_ps256(a)), _mm512_cvtps_pd(high)};
    }
    static Wide multiply(Wide a, Wide b) {
        return {_mm512_mul_pd(a.low, b.low), _mm512_mul_pd(a.high, b.high)};
    }
    static Wide add(Wide a, Wide b) { return {_mm512_add_pd(a.low, b.low), _mm512_add_pd(a.high, b.high)}; }
    static Wide larger(Wide a, Wide b) {
        return {_mm512_max_pd(a.low, b.low), _mm512_max_pd(a.high, b.high)};
    }
    static Wide loadWide(const double* at) { return {_mm512_loadu_pd(at), _mm512_loadu_pd(at + 8)}; }
    static void storeWide(Wide a, double* at) {
        _mm512_storeu_pd(at, a.low);
        _mm512_storeu_pd(at + 8, a.high);
    }

    static Longs longs(std::uint64_t x) {
        const __m512i all = _mm512_set1_epi64(static_cast<long long>(x));
        return {all, all};
    }
    static Longs steps(std::uint64_t step) {
        const auto at = [step](std::uint64_t lane) { return static_cast<long long>(lane * step); };
        return {_mm512_setr_epi64(at(0), at(2), at(4), at(6), at(8), at(10), at(12), at(14)),
                _mm512_setr_epi64(at(1), at(3), at(5), at(7), at(9), at(11), at(13), at(15))};
    }
    static Longs add(Longs a, Longs b) {
        return {_mm512_add_epi64(a.even, b.even), _mm512_add_epi64(a.odd, b.odd)};
    }
    static Longs multiply(Longs a, std::uint64_t by) {
        const __m512i all = _mm512_set1_epi64(static_cast<long long>(by));
        return {_mm512_mullo_epi64(a.even, all), _mm512_mullo_epi64(a.odd, all)};
    }
    template <int N>
    static Longs fold(Longs a) {
        return {oneOf(a.even, _mm512_srli_epi64(a.even, N)), oneOf(a.odd, _mm512_srli_epi64(a.odd, N))};
    }
    static Ints upperProduct(Longs a, std::uint64_t by) {
        const Longs whole = multiply(a, by);
        return _mm512_mask_blend_epi32(0xAAAA, _mm512_srli_epi64(whole.even, 32), whole.odd);
    }

    static Ints asInts(Floats a) { return _mm512_castps_si512(a); }
    static Floats asFloats(Ints a) { return _mm512_castsi512_ps(a); }

    static Floats loadFloats(const std::byte* at) { return _mm512_loadu_ps(at); }
    static void storeFloats(Floats a, std::byte* at) { _mm512_storeu_ps(at, a); }
    static Ints load16(const std::byte* at) { return _mm512_cvtepu16_epi32(load256(at)); }
    static Ints load8(const std::byte* at) { return _mm512_cvtepi8_epi16(load256(at)); }
    static void store16(Ints a, std::byte* at) { store256(_mm512_cvtepi32_epi16(a), at); }
    static Ints pack8(const Ints (&a)[4]) {
        return _mm512_packs_epi16(_mm512_packs_epi32(a[0], a[1]), _mm512_packs_epi32(a[2], a[3]));
    }
    static void store8(Ints packed, std::byte* at) {
        // Packing works within 128-bit quarters, each with four elements of each vector.
        const Ints order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
        _mm512_storeu_si512(at, _mm512_permutexvar_epi32(order, packed));
    }
    static Floats loadHalf(const std::byte* at) { return _mm512_cvtph_ps(load256(at)); }
    static void widenHalves(Ints halves, Floats& first, Floats& second) {
        first = _mm512_cvtph_ps(_mm512_castsi512_si256(halves));
        second = _mm512_cvtph_ps(_mm512_extracti64x4_epi64(halves, 1));
    }
    static void storeHalf(Floats a, std::byte* at) {
        store256(_mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC), at);
    }

  private:
    static __m256i load256(const std::byte* at) {
        return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
    }
    static void store256(__m256i a, std::byte* at) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(at), a); }
};

}  // namespace
}  // namespace layerloom
