#pragma once
#include <immintrin.h>

#include "../dtype.hpp"
#include "../scalar.hpp"

namespace layerloom {
namespace {

/// AVX2 and F16C: eight float32 lanes.
struct Vec {
    static constexpr std::size_t lanes = 8;
    static __m256 broadcast(float x) { return _mm256_set1_ps(x); }
    static __m256 multiply(__m256 a, __m256 b) { return _mm256_mul_ps(a, b); }
    static __m256 add(__m256 a, __m256 b) { return _mm256_add_ps(a, b); }
    static __m256 loadTile(const float* tile) { return _mm256_loadu_ps(tile); }
    static void store(float* tile, __m256 x) { _mm256_storeu_ps(tile, x); }

    static __m256 canonical(__m256 x) {
        const __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(static_cast<int>(kCanonicalNan32)));
        return _mm256_blendv_ps(x, nan, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    }

    template <DType D>
    static __m256 load(const std::byte* at) {
        if constexpr (D == DType::F32) {
            return _mm256_loadu_ps(reinterpret_cast<const float*>(at));
        } else {
            const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
            if constexpr (D == DType::BF16)
                return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16));
            if constexpr (D == DType::F16) return _mm256_cvtph_ps(half);
        }
    }

    template <DType D>
    static void round(__m256 x, std::byte* at) {
        if constexpr (D == DType::F32) {
            _mm256_storeu_ps(reinterpret_cast<float*>(at), x);
        } else {
            _mm_storeu_si128(reinterpret_cast<__m128i*>(at), half<D>(x));
        }
    }

  private:
    template <DType D>
    static __m128i half(__m256 x) {
        if constexpr (D == DType::F16)
            return _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
        const __m256i u = _mm256_castps_si256(x);
        const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(u, 16), _mm256_set1_epi32(1));
        const __m256i sum = _mm256_add_epi32(u, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7FFF)));
        const __m256i high = _mm256_srli_epi32(sum, 16);
        // Packing works within 128-bit halves: the two wanted quarters are the first and the third.
        const __m256i packed = _mm256_packus_epi32(high, high);
        return _mm256_castsi256_si128(_mm256_permute4x64_epi64(packed, 0b1000));
    }
};

}  // namespace
}  // namespace layerloom
