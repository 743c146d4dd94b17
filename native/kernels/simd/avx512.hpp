#pragma once
#include <immintrin.h>

#include "../dtype.hpp"
#include "../scalar.hpp"

namespace layerloom {
namespace {

/// AVX-512 F, BW and VL: sixteen float32 lanes. AVX512-BF16 has a conversion of its own, unused here: it
/// flushes subnormals to zero.
struct Vec {
    static constexpr std::size_t lanes = 16;
    static __m512 broadcast(float x) { return _mm512_set1_ps(x); }
    static __m512 multiply(__m512 a, __m512 b) { return _mm512_mul_ps(a, b); }
    static __m512 add(__m512 a, __m512 b) { return _mm512_add_ps(a, b); }
    static __m512 loadTile(const float* tile) { return _mm512_loadu_ps(tile); }
    static void store(float* tile, __m512 x) { _mm512_storeu_ps(tile, x); }

    static __m512 canonical(__m512 x) {
        const __m512 nan = _mm512_castsi512_ps(_mm512_set1_epi32(static_cast<int>(kCanonicalNan32)));
        return _mm512_mask_mov_ps(x, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), nan);
    }

    template <DType D>
    static __m512 load(const std::byte* at) {
        if constexpr (D == DType::F32) {
            return _mm512_loadu_ps(at);
        } else {
            const __m256i half = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
            if constexpr (D == DType::BF16)
                return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16));
            if constexpr (D == DType::F16) return _mm512_cvtph_ps(half);
        }
    }

    template <DType D>
    static void round(__m512 x, std::byte* at) {
        if constexpr (D == DType::F32) {
            _mm512_storeu_ps(at, x);
        } else {
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(at), half<D>(x));
        }
    }

  private:
    template <DType D>
    static __m256i half(__m512 x) {
        if constexpr (D == DType::F16)
            return _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
        const __m512i u = _mm512_castps_si512(x);
        const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(u, 16), _mm512_set1_epi32(1));
        const __m512i sum = _mm512_add_epi32(u, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7FFF)));
        return _mm512_cvtepi32_epi16(_mm512_srli_epi32(sum, 16));
    }
};

}  // namespace
}  // namespace layerloom
