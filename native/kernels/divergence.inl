// Kernels for the divergence of two softmaxes, in float64, from operations that are correctly rounded.
// Loops have no branches, so that compilers make vectors of them.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "simd/scalar.hpp"

namespace layerloom {
namespace {

/// Returns x / N, correctly rounded. `x` is 0 or far from the smallest numbers.
template <int N>
[[gnu::always_inline]] inline double over(double x) {
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

/// Numbers side by side, because each step of a series waits for the one before.
constexpr std::size_t kAbreastInSeries = 32;

/// Turns each s into 1 + r/1 · (1 + r/2 · (… (1 + r/N · s))).
template <int N>
[[gnu::always_inline]] inline void addPowers(const double (&r)[kAbreastInSeries], double (&s)[kAbreastInSeries]) {
    for (std::size_t i = 0; i < kAbreastInSeries; ++i) s[i] = 1 + over<N>(r[i] * s[i]);
    if constexpr (N > 1) addPowers<N - 1>(r, s);
}

/// Returns 1/N + square · (1/(N+2) + … square · 1/Last).
template <int N, int Last>
[[gnu::always_inline]] inline double logarithmSeries(double square) {
    if constexpr (N > Last)
        return 0;
    else
        return 1.0 / N + square * logarithmSeries<N + 2, Last>(square);
}

/// The natural logarithm of a positive normal number; NaN for NaN.
[[gnu::always_inline]] inline double logarithm(double x) {
    const auto bits = bitsAs<std::uint64_t>(x);
    // An integer below 2⁵² as a number.
    const double biased = bitsAs<double>(bits >> 52 | 0x4330'0000'0000'0000u) - 0x1p52;
    const auto half = bitsAs<double>((bits & 0x000F'FFFF'FFFF'FFFFu) | 0x3FE0'0000'0000'0000u);
    const bool isSmall = half < 0.70710678118654752;
    const double m = isSmall ? half * 2 : half;
    const double exponent = biased - (isSmall ? 1023.0 : 1022.0);
    const double s = (m - 1) / (m + 1);
    const double result = exponent * 0.6931471805599453 + 2 * s * logarithmSeries<1, 21>(s * s);
    return x == x ? result : x;
}

/// exp(x[i] − most), to about 1e-15; 0 below −700; NaN for NaN. Not the library's, because libraries differ.
void exponentials(const float* x, float most, double* out, std::size_t count) {
    constexpr double log2e = 1.4426950408889634, ln2High = 0.6931471803691238,
                     ln2Low = 1.9082149292705877e-10;
    // The lower bits of a number plus this one are the number, if it is an integer.
    constexpr double integers = 0x1.8p52;
    for (std::size_t at = 0; at < count; at += kAbreastInSeries) {
        const std::size_t length = std::min(kAbreastInSeries, count - at);
        float own[kAbreastInSeries] = {};
        std::copy_n(x + at, length, own);
        double power[kAbreastInSeries], r[kAbreastInSeries], s[kAbreastInSeries];
        for (std::size_t i = 0; i < kAbreastInSeries; ++i) {
            const double distance = static_cast<double>(own[i]) - static_cast<double>(most);
            const double bounded = distance < -700 ? -700 : distance;
            const double k = std::floor(bounded * log2e + 0.5);
            r[i] = (bounded - k * ln2High) - k * ln2Low;
            const auto twoToK = bitsAs<double>((bitsAs<std::uint64_t>(k + integers) + 1023) << 52);
            power[i] = distance < -700 ? 0 : twoToK;
            s[i] = 1;
        }
        addPowers<13>(r, s);
        for (std::size_t i = 0; i < kAbreastInSeries; ++i) s[i] = s[i] * power[i];
        std::copy_n(s, length, out + at);
    }
}

void divergences(const double* a, double sumA, const double* b, double sumB, double* out, std::size_t count) {
    constexpr double epsilon = 1e-8;
    for (std::size_t i = 0; i < count; ++i) {
        const double p = a[i] / sumA + epsilon, q = b[i] / sumB + epsilon;
        out[i] = p * logarithm(p / q);
    }
}

}  // namespace
}  // namespace layerloom
