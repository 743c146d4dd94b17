// The text of the kernels that combine float32 tiles of task vectors: most are plain loops without branches,
// which the compiler turns into vectors for each instruction set. Every operation is one of IEEE 754's, in
// the order written: the same bits everywhere.
#include <algorithm>
#include <cmath>
#include <limits>

#include "convert.hpp"
#include "kernels.hpp"

namespace layerloom {
namespace {

/// Elements whose sums stay in registers and the L1 cache.
constexpr std::size_t kChunk = 256;

constexpr std::uint32_t kMagnitude = 0x7FFF'FFFFu;

std::uint32_t magnitudeBits(float x) { return bitsAs<std::uint32_t>(x) & kMagnitude; }

/// The least magnitude that is above a bound, among the elements before its cutoff and from it on.
std::uint32_t leastAbove(const Bound& bound, bool before) {
    const bool tiesAreAbove = before == bound.early;
    return tiesAreAbove || bound.bits == 0xFFFF'FFFFu ? bound.bits : bound.bits + 1;
}

/// Where a bound's cutoff falls in a tile.
std::size_t cutoffIn(const Bound& bound, std::uint64_t first, std::size_t count) {
    return static_cast<std::size_t>(std::clamp<std::uint64_t>(bound.cutoff, first, first + count) - first);
}

void keep(const float* x, const float* key, const Bound& lower, const Bound& upper, float scale,
          std::uint64_t first, float* out, std::size_t count) {
    // Between the cutoffs what is kept is a range of magnitudes: one comparison an element.
    const std::size_t low = cutoffIn(lower, first, count), high = cutoffIn(upper, first, count);
    for (std::size_t begin = 0; begin < count;) {
        const bool beforeLow = begin < low, beforeHigh = begin < high;
        const std::size_t end = std::min(beforeLow ? low : count, beforeHigh ? high : count);
        const std::uint32_t least = leastAbove(lower, beforeLow), most = leastAbove(upper, beforeHigh);
        const std::uint32_t width = most > least ? most - least : 0;
        for (std::size_t i = begin; i < end; ++i) {
            const float scaled = x[i] * scale;
            out[i] = magnitudeBits(key[i]) - least < width ? scaled : 0.0f;
        }
        begin = end;
    }
}

/// SplitMix64: a bijection that scatters counters.
std::uint64_t scatter(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58'476D'1CE4'E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D0'49BB'1331'11EBull;
    return z ^ (z >> 31);
}

void randoms(std::uint64_t key, std::uint64_t first, std::uint32_t* out, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
        out[i] = static_cast<std::uint32_t>(scatter(key + (first + i + 1) * 0x9E37'79B9'7F4A'7C15ull) >> 32);
}

/// N vectors from element i on: side by side, so that what the rule asks is asked once for all.
template <class V, DType Out, std::size_t N>
[[gnu::always_inline]] inline void voteAt(const float* base, const float* const* changes,
                                          const float* weights, std::size_t terms, const VoteRule& rule,
                                          std::byte* out, std::size_t i) {
    using Floats = typename V::Floats;
    const auto load = [i](const float* x, std::size_t n) {
        return V::loadFloats(reinterpret_cast<const std::byte*>(x + i + n * V::lanes));
    };
    const Floats zero = V::floats(0), one = V::floats(1);
    // The sign bit where the elected sign is negative: with it turned, those that agree are positive.
    typename V::Ints turned[N];
    Floats sum[N], divisor[N];
    for (std::size_t n = 0; n < N; ++n) sum[n] = divisor[n] = zero;
    if (rule.elects) {
        for (std::size_t t = 0; t < terms; ++t) {
            const Floats voice = rule.weighted ? V::floats(weights[t]) : one;
            for (std::size_t n = 0; n < N; ++n)
                sum[n] = V::add(sum[n], V::multiply(voice, load(changes[t], n)));
        }
        // Above the largest negative number is what is not below 0.
        const Floats least = V::floats(rule.tiePositive ? -std::numeric_limits<float>::denorm_min() : 0);
        for (std::size_t n = 0; n < N; ++n) {
            turned[n] = V::select(V::greater(sum[n], least), V::ints(0), V::ints(0x8000'0000u));
            sum[n] = zero;
        }
    }
    for (std::size_t t = 0; t < terms; ++t) {
        const Floats weight = V::floats(weights[t]), voice = rule.weighted ? weight : one;
        const Floats share = rule.divisor == Divisor::Count ? one : weight;
        for (std::size_t n = 0; n < N; ++n) {
            const Floats x = load(changes[t], n);
            auto product = V::asInts(V::multiply(weight, x)), part = V::asInts(share);
            if (rule.elects) {
                const auto opinion = V::oneOf(V::asInts(V::multiply(voice, x)), turned[n]);
                const auto agrees = V::greater(V::asFloats(opinion), zero);
                product = V::select(agrees, product, V::ints(0));
                part = V::select(agrees, part, V::ints(0));
            }
            sum[n] = V::add(sum[n], V::asFloats(product));
            divisor[n] = V::add(divisor[n], V::asFloats(part));
        }
    }
    if (rule.divisor != Divisor::None) {
        const Floats least = V::floats(rule.least == 0 ? 1 : rule.least);
        for (std::size_t n = 0; n < N; ++n) {
            const auto tooSmall =
                rule.least == 0 ? V::equal(V::asInts(divisor[n]), V::ints(0)) : V::greater(least, divisor[n]);
            const auto by = V::select(tooSmall, V::asInts(least), V::asInts(divisor[n]));
            sum[n] = V::divide(sum[n], V::asFloats(by));
        }
    }
    for (std::size_t n = 0; n < N; ++n)
        sum[n] = V::add(load(base, n), V::multiply(V::floats(rule.scale), sum[n]));
    if constexpr (N == kAbreast)
        storeFour<V, DType::F32, Out>(sum, out + i * sizeOf(Out));
    else
        store<V, Out>(sum[0], out + i * sizeOf(Out));
}

template <class V, DType Out>
void vote(const float* base, const float* const* changes, const float* weights, std::size_t terms,
          const VoteRule& shared, std::byte* out, std::size_t count) {
    // A copy of its own: `out` could stand anywhere, for all that the compiler knows.
    const VoteRule rule = shared;
    constexpr std::size_t block = kAbreast * V::lanes;
    std::size_t i = 0;
    for (; i + block <= count; i += block)
        voteAt<V, Out, kAbreast>(base, changes, weights, terms, rule, out, i);
    for (; i < count; ++i) voteAt<Scalar, Out, 1>(base, changes, weights, terms, rule, out, i);
}

void variance(const float* const* x, std::size_t terms, float* out, std::size_t count) {
    double mean[kChunk], sum[kChunk];
    const double n = static_cast<double>(terms);
    for (std::size_t at = 0; at < count; at += kChunk) {
        const std::size_t length = std::min(kChunk, count - at);
        std::fill_n(mean, length, 0.0);
        std::fill_n(sum, length, 0.0);
        for (std::size_t t = 0; t < terms; ++t)
            for (std::size_t i = 0; i < length; ++i) mean[i] += x[t][at + i];
        for (std::size_t i = 0; i < length; ++i) mean[i] /= n;
        for (std::size_t t = 0; t < terms; ++t)
            for (std::size_t i = 0; i < length; ++i) {
                const double difference = x[t][at + i] - mean[i];
                sum[i] += difference * difference;
            }
        for (std::size_t i = 0; i < length; ++i) out[at + i] = static_cast<float>(sum[i] / n);
    }
}

void nearSwap(const float* a, const float* b, float t, float* out, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        const float distance = std::fabs(a[i] - b[i]);
        const float weight = t / (distance < 1e-6f ? 1e-6f : distance);
        const float w = weight < 0 ? 0.0f : (weight > 1 ? 1.0f : weight);
        out[i] = w * b[i] + (1 - w) * a[i];
    }
}

void linearColumns(const float* const* x, const float* const* weights, std::size_t terms, float* out,
                   std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) out[i] = weights[0][i] * x[0][i];
    for (std::size_t t = 1; t < terms; ++t)
        for (std::size_t i = 0; i < count; ++i) out[i] = out[i] + weights[t][i] * x[t][i];
}

std::uint64_t countMagnitude(const float* x, std::uint32_t bits, std::size_t count) {
    std::uint64_t total = 0;
    for (std::size_t at = 0; at < count; at += kChunk) {
        const std::size_t n = std::min(kChunk, count - at);
        std::uint32_t equal = 0;
        for (std::size_t i = 0; i < n; ++i) equal += magnitudeBits(x[at + i]) == bits;
        total += equal;
    }
    return total;
}

std::int64_t sumSigns(const float* x, std::size_t count) {
    std::int64_t total = 0;
    for (std::size_t at = 0; at < count; at += kChunk) {
        const std::size_t n = std::min(kChunk, count - at);
        std::int32_t sum = 0;
        for (std::size_t i = 0; i < n; ++i) sum += (x[at + i] > 0) - (x[at + i] < 0);
        total += sum;
    }
    return total;
}

}  // namespace
}  // namespace layerloom
