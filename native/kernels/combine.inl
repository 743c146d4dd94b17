// Kernels that combine float32 tiles of task vectors. Most are loops without branches, which the compiler
// vectorises for each instruction set. Operations follow IEEE 754, in the order written, so that bits are
// equal everywhere.
#include <algorithm>
#include <cmath>
#include <limits>

#include "convert.hpp"
#include "kernels.hpp"

namespace layerloom {
namespace {

/// Elements at a time, so that sums stay in registers and the L1 cache.
constexpr std::size_t kChunk = 256;

constexpr std::uint32_t kMagnitude = 0x7FFF'FFFFu;

std::uint32_t magnitudeBits(float x) { return bitsAs<std::uint32_t>(x) & kMagnitude; }

/// Returns the least magnitude above a bound, for elements before its cutoff or from the cutoff on.
std::uint32_t leastAbove(const Bound& bound, bool before) {
    const bool tiesAreAbove = before == bound.early;
    return tiesAreAbove || bound.bits == kNoMagnitude ? bound.bits : bound.bits + 1;
}

/// Keeps magnitudes from `least` on, below `beyond`.
struct Kept {
    std::uint32_t least, beyond;

    /// A magnitude is kept if it is at most `more` after subtracting `from` modulo 2³².
    std::uint32_t from() const { return least < beyond ? least : kMagnitude + 1; }
    std::uint32_t more() const { return least < beyond ? beyond - least - 1 : 0; }
};

/// Returns the magnitudes to keep from element `begin` on. Reduces `end` to the next cutoff: between cutoffs,
/// one comparison is enough.
Kept keptFrom(const Bound& lower, const Bound& upper, std::uint64_t first, std::size_t begin,
              std::size_t& end) {
    const auto isBefore = [&](const Bound& bound) {
        const bool before = first + begin < bound.cutoff;
        if (before) end = static_cast<std::size_t>(std::min<std::uint64_t>(end, bound.cutoff - first));
        return before;
    };
    const std::uint32_t least = leastAbove(lower, isBefore(lower)), most = leastAbove(upper, isBefore(upper));
    return {least, most};
}

void keep(const float* x, const float* key, const Bound& lower, const Bound& upper, float scale,
          std::uint64_t first, float* out, std::size_t count) {
    for (std::size_t begin = 0; begin < count;) {
        std::size_t end = count;
        const Kept kept = keptFrom(lower, upper, first, begin, end);
        const std::uint32_t from = kept.from(), more = kept.more();
        for (std::size_t i = begin; i < end; ++i) {
            const float scaled = x[i] * scale;
            out[i] = magnitudeBits(key[i]) - from <= more ? scaled : 0.0f;
        }
        begin = end;
    }
}

void scaleRuns(const float* scales, std::size_t width, std::size_t first, float* out, std::size_t count) {
    for (std::size_t at = 0, run = 0; at < count; ++run, first = 0) {
        const std::size_t n = std::min(count - at, width - first);
        const float scale = scales[run];
        for (std::size_t i = 0; i < n; ++i) out[at + i] = out[at + i] * scale;
        at += n;
    }
}

/// Decodes E2M1, with bits like float32's, except for ½ and 0, which have no leading 1.
inline float ofE2M1(std::uint32_t code) {
    const std::uint32_t magnitude = code & 7;
    const std::uint32_t bits =
        magnitude < 2 ? (0 - magnitude) & 0x3F00'0000u : (magnitude << 22) + (126u << 23);
    return __builtin_bit_cast(float, bits | (code & 8) << 28);
}

void scaleHalves(const std::uint8_t* bytes, bool upper, const float* scales, float* out, std::size_t count) {
    if (upper)
        for (std::size_t i = 0; i < count; ++i)
            out[i] = ofE2M1(static_cast<std::uint32_t>(bytes[i]) >> 4) * scales[i];
    else
        for (std::size_t i = 0; i < count; ++i) out[i] = ofE2M1(bytes[i]) * scales[i];
}

/// Computes the variance in one pass. Multiplies instead of dividing if the divisor is a power of two.
template <std::size_t Terms>
void varianceOf(const float* const* x, float* out, std::size_t count) {
    const float* of[Terms];
    std::copy_n(x, Terms, of);
    constexpr double n = Terms;
    for (std::size_t i = 0; i < count; ++i) {
        double mean = 0, sum = 0;
        for (std::size_t t = 0; t < Terms; ++t) mean += of[t][i];
        mean /= n;
        for (std::size_t t = 0; t < Terms; ++t) {
            const double difference = of[t][i] - mean;
            sum += difference * difference;
        }
        out[i] = static_cast<float>(sum / n);
    }
}

void variance(const float* const* x, std::size_t terms, float* out, std::size_t count) {
    if (terms == 2) return varianceOf<2>(x, out, count);
    if (terms == 3) return varianceOf<3>(x, out, count);
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

void fisher(const float* const* x, const float* const* importances, const float* weights, std::size_t terms,
            float eps, float* out, std::size_t count) {
    constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
    float sum[kChunk], divisor[kChunk];
    for (std::size_t at = 0; at < count; at += kChunk) {
        const std::size_t length = std::min(kChunk, count - at);
        for (std::size_t t = 0; t < terms; ++t) {
            const float* const own = importances[t] + at;
            const float* const value = x[t] + at;
            for (std::size_t i = 0; i < length; ++i) {
                const float importance = own[i] < 0 ? kNaN : own[i];
                const float weight = weights[t] * (importance + eps);
                const float product = weight * value[i];
                // Starts with the first term, to keep −0.
                sum[i] = t == 0 ? product : sum[i] + product;
                divisor[i] = t == 0 ? weight : divisor[i] + weight;
            }
        }
        for (std::size_t i = 0; i < length; ++i) out[at + i] = sum[i] / divisor[i];
    }
}

void linearColumns(const float* const* x, const float* const* weights, std::size_t terms, float* out,
                   std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) out[i] = weights[0][i] * x[0][i];
    for (std::size_t t = 1; t < terms; ++t)
        for (std::size_t i = 0; i < count; ++i) out[i] = out[i] + weights[t][i] * x[t][i];
}

MagnitudeBits magnitudes(const float* x, std::uint32_t* out, std::size_t count) {
    MagnitudeBits found{0, kMagnitude, 0};
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t bits = magnitudeBits(x[i]);
        out[i] = bits;
        found.all |= bits;
        found.least = std::min(found.least, bits - 1);
        found.most = std::max(found.most, bits);
    }
    return found;
}

void countAlone(const float* const* x, std::size_t terms, std::uint32_t bits, std::uint64_t* counts,
                std::size_t count) {
    std::uint32_t isLarge[kMostChanges][kChunk], sum[kChunk];
    for (std::size_t at = 0; at < count; at += kChunk) {
        const std::size_t n = std::min(kChunk, count - at);
        std::fill_n(sum, n, 0);
        for (std::size_t t = 0; t < terms; ++t)
            for (std::size_t i = 0; i < n; ++i) {
                isLarge[t][i] = magnitudeBits(x[t][at + i]) > bits;
                sum[i] += isLarge[t][i];
            }
        for (std::size_t t = 0; t < terms; ++t) {
            std::uint32_t all = 0, alone = 0;
            for (std::size_t i = 0; i < n; ++i) {
                all += isLarge[t][i];
                alone += isLarge[t][i] & static_cast<std::uint32_t>(sum[i] == 1);
            }
            counts[2 * t] += all;
            counts[2 * t + 1] += alone;
        }
    }
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

/// The word type of a dtype, and the bits of its infinity.
template <DType D>
struct Words;
template <>
struct Words<DType::BF16> {
    using Word = std::uint16_t;
    static constexpr Word special = 0x7F80;
};
template <>
struct Words<DType::F16> {
    using Word = std::uint16_t;
    static constexpr Word special = Format<DType::F16>::special;
};
template <>
struct Words<DType::F32> {
    using Word = std::uint32_t;
    static constexpr Word special = kInfinity32;
};
template <>
struct Words<DType::F64> {
    using Word = std::uint64_t;
    static constexpr Word special = 0x7FF0'0000'0000'0000u;
};
template <>
struct Words<DType::F8_E4M3> {
    using Word = std::uint8_t;
    static constexpr Word special = Format<DType::F8_E4M3>::special;
};
template <>
struct Words<DType::F8_E5M2> {
    using Word = std::uint8_t;
    static constexpr Word special = Format<DType::F8_E5M2>::special;
};

/// Compares the largest magnitude's bits: a maximum takes one operation for each vector.
template <DType D>
bool isFinite(const std::byte* x, std::size_t count) {
    using Word = typename Words<D>::Word;
    constexpr Word magnitude = std::numeric_limits<Word>::max() >> 1;
    Word most = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const Word own = loadAt<Word>(x + i * sizeof(Word)) & magnitude;
        most = most < own ? own : most;
    }
    return most < Words<D>::special;
}

}  // namespace
}  // namespace layerloom
