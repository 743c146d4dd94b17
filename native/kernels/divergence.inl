// Kernels for the divergence of two softmaxes, in float64, from correctly rounded operations. Loops have no
// branches, so that compilers vectorise them.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels.hpp"
#include "simd/scalar.hpp"

namespace layerloom {
namespace {

/// Returns x / N, correctly rounded. `x` is 0 or far from the smallest numbers.
template <int N>
[[gnu::always_inline]] inline double over(double x) {
    if constexpr ((N & (N - 1)) == 0) return x * (1.0 / N);
#if defined(__AVX512F__) || defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    // For a small N, one correction is enough. Before rounding, it errs by less than 2⁻⁵² units in the last
    // place, and a quotient is at least 1/(2N) units from a tie.
    constexpr double inverse = 1.0 / N;
    const double guess = x * inverse;
    return std::fma(std::fma(-static_cast<double>(N), guess, x), inverse, guess);
#else
    return x / N;
#endif
}

/// Numbers computed side by side, because each step of a series waits for the one before.
constexpr std::size_t kAbreastInSeries = 32;
using Abreast = double[kAbreastInSeries];

/// Turns each s into 1 + r/1·(1 + r/2·(… (1 + r/N·s))).
template <int N>
[[gnu::always_inline]] inline void addPowers(const Abreast& r, Abreast& s) {
    for (std::size_t i = 0; i < kAbreastInSeries; ++i) s[i] = 1 + over<N>(r[i] * s[i]);
    if constexpr (N > 1) addPowers<N - 1>(r, s);
}

/// Turns each s into 1 + square·(1/3 + square·(… (1/N + square·s))).
template <int N>
[[gnu::always_inline]] inline void addOddPowers(const Abreast& square, Abreast& s) {
    for (std::size_t i = 0; i < kAbreastInSeries; ++i) s[i] = 1.0 / N + square[i] * s[i];
    if constexpr (N > 1) addOddPowers<N - 2>(square, s);
}

/// Returns 1 + square·(1/3 + square·(… 1/Last)).
template <int Last, int N = 1>
[[gnu::always_inline]] inline double logarithmSeries(double square) {
    if constexpr (N == Last)
        return 1.0 / N;
    else
        return 1.0 / N + square * logarithmSeries<Last, N + 2>(square);
}

/// √½, the least mantissa in `logarithm`.
constexpr double kLeastMantissa = 0.70710678118654752;
constexpr int kLastOfLogarithm = 21;

/// Returns the natural logarithm of a positive normal number; NaN for NaN.
[[gnu::always_inline]] inline double logarithm(double x) {
    const auto bits = bitsAs<std::uint64_t>(x);
    // Converts an integer below 2⁵² to a number.
    const double biased = bitsAs<double>(bits >> 52 | 0x4330'0000'0000'0000u) - 0x1p52;
    const auto half = bitsAs<double>((bits & 0x000F'FFFF'FFFF'FFFFu) | 0x3FE0'0000'0000'0000u);
    const bool isSmall = half < kLeastMantissa;
    const double m = isSmall ? half * 2 : half;
    const double exponent = biased - (isSmall ? 1023.0 : 1022.0);
    const double s = (m - 1) / (m + 1);
    const double result = exponent * 0.6931471805599453 + 2 * s * logarithmSeries<kLastOfLogarithm>(s * s);
    return x == x ? result : x;
}

[[gnu::always_inline]] inline void exponentialsAbreast(const float* x, float most, double* out) {
    constexpr double log2e = 1.4426950408889634, ln2High = 0.6931471803691238,
                     ln2Low = 1.9082149292705877e-10;
    // Added to an integer, gives a number whose lower bits are the integer.
    constexpr double integers = 0x1.8p52;
    Abreast power, r, s;
    for (std::size_t i = 0; i < kAbreastInSeries; ++i) {
        const double distance = static_cast<double>(x[i]) - static_cast<double>(most);
        const double bounded = distance < -700 ? -700 : distance;
        const double k = std::floor(bounded * log2e + 0.5);
        r[i] = (bounded - k * ln2High) - k * ln2Low;
        const auto twoToK = bitsAs<double>((bitsAs<std::uint64_t>(k + integers) + 1023) << 52);
        power[i] = distance < -700 ? 0 : twoToK;
        s[i] = 1;
    }
    addPowers<13>(r, s);
    for (std::size_t i = 0; i < kAbreastInSeries; ++i) out[i] = s[i] * power[i];
}

/// Returns false if the table lacks an element.
[[gnu::always_inline]] inline bool lookUpAbreast(const float* x, const ExponentialTable& table, double* out) {
    std::uint32_t places[kAbreastInSeries], outside = 0;
    for (std::size_t i = 0; i < kAbreastInSeries; ++i) {
        const auto bits = bitsAs<std::uint32_t>(x[i]);
        const std::uint32_t magnitude = bits >> 16 & 0x7FFFu, place = magnitude - table.low;
        const std::uint32_t known = magnitude == 0 ? kTabled : place < kTabled ? place : kTabled + 1;
        outside |= (bits & 0xFFFFu) | (known == kTabled + 1 ? 1u : 0u);
        places[i] = known + (bits >> 31) * (kTabled + 2);
    }
    if (outside != 0) return false;
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kAbreastInSeries; ++i) out[i] = table.values[places[i]];
    return true;
}

/// exp(x[i] − most), to about 1e-15; 0 below −700; NaN for NaN. Not the library's, because libraries differ.
void exponentials(const float* x, float most, const ExponentialTable* table, double* out, std::size_t count) {
    std::size_t at = 0;
    for (; at + kAbreastInSeries <= count; at += kAbreastInSeries)
        if (table == nullptr || !lookUpAbreast(x + at, *table, out + at))
            exponentialsAbreast(x + at, most, out + at);
    if (at == count) return;
    float own[kAbreastInSeries] = {};
    Abreast found;
    std::copy(x + at, x + count, own);
    exponentialsAbreast(own, most, found);
    std::copy_n(found, count - at, out + at);
}

void divergences(const double* a, double sumA, const double* b, double sumB, double* out, std::size_t count) {
    constexpr double epsilon = 1e-8;
    std::size_t at = 0;
    for (; at + kAbreastInSeries <= count; at += kAbreastInSeries) {
        Abreast p, ratio;
        std::uint32_t outside = 0;
        for (std::size_t i = 0; i < kAbreastInSeries; ++i) {
            p[i] = a[at + i] / sumA + epsilon;
            ratio[i] = p[i] / (b[at + i] / sumB + epsilon);
            outside |= ratio[i] >= kLeastMantissa && ratio[i] < 2 * kLeastMantissa ? 0u : 1u;
        }
        if (outside != 0) {
            for (std::size_t i = 0; i < kAbreastInSeries; ++i) out[at + i] = p[i] * logarithm(ratio[i]);
            continue;
        }
        // As `logarithm`, with an exponent of 0.
        Abreast s, square, series;
        for (std::size_t i = 0; i < kAbreastInSeries; ++i) {
            s[i] = (ratio[i] - 1) / (ratio[i] + 1);
            square[i] = s[i] * s[i];
            series[i] = 1.0 / kLastOfLogarithm;
        }
        addOddPowers<kLastOfLogarithm - 2>(square, series);
        for (std::size_t i = 0; i < kAbreastInSeries; ++i) out[at + i] = p[i] * (2 * s[i] * series[i]);
    }
    for (; at < count; ++at) {
        const double p = a[at] / sumA + epsilon, q = b[at] / sumB + epsilon;
        out[at] = p * logarithm(p / q);
    }
}

}  // namespace
}  // namespace layerloom
