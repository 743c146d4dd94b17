#include "convert.hpp"
#include "kernels.hpp"
#include "linear.inl"

namespace layerloom {
namespace {

template <class V>
typename V::Floats loadFrom(const float* at) {
    return V::loadFloats(reinterpret_cast<const std::byte*>(at));
}

/// Vectors of float32 products that are summed before widening. Part of the numeric contract.
constexpr std::size_t kRun = 8;

/// Number of values whose products are summed in registers.
constexpr std::size_t kGroup = 3;

/// Returns the index of pair (i, i) among the pairs i ≤ j.
constexpr std::size_t firstPairOf(std::size_t i, std::size_t values) { return i * values - i * (i - 1) / 2; }

/// @param lanes running sums of a[i]·b[j], one per lane; only i ≤ j if `isSame`
template <class V, std::size_t I, std::size_t J, bool isSame>
void addProducts(const float* const* a, const float* const* b, double* const (&lanes)[kGroup][kGroup],
                 std::size_t count) {
    constexpr std::size_t vectors = kLanes / V::lanes;
    std::size_t at = 0;
    for (; at + kRun * kLanes <= count; at += kRun * kLanes)
        for (std::size_t v = 0; v < vectors; ++v) {
            typename V::Floats sums[I][J];
#pragma GCC unroll 8
            for (std::size_t run = 0; run < kRun; ++run) {
                const std::size_t from = at + run * kLanes + v * V::lanes;
                typename V::Floats x[I], y[J];
                for (std::size_t i = 0; i < I; ++i) x[i] = loadFrom<V>(a[i] + from);
                for (std::size_t j = 0; j < J; ++j) y[j] = isSame ? x[j] : loadFrom<V>(b[j] + from);
                for (std::size_t i = 0; i < I; ++i)
                    for (std::size_t j = isSame ? i : 0; j < J; ++j) {
                        const auto product = V::multiply(x[i], y[j]);
                        sums[i][j] = run == 0 ? product : V::add(sums[i][j], product);
                    }
            }
            for (std::size_t i = 0; i < I; ++i)
                for (std::size_t j = isSame ? i : 0; j < J; ++j) {
                    double* const to = lanes[i][j] + v * V::lanes;
                    V::storeWide(V::add(V::loadWide(to), V::widen(sums[i][j])), to);
                }
        }
    for (std::size_t lane = 0; at < count; ++at, ++lane)
        for (std::size_t i = 0; i < I; ++i)
            for (std::size_t j = isSame ? i : 0; j < J; ++j)
                lanes[i][j][lane % kLanes] += Scalar::multiply(a[i][at], b[j][at]);
}

template <class V>
void products(const float* const* x, std::size_t values, double (*lanes)[kLanes], std::size_t count) {
    static_assert(kGroup == 3);
    for (std::size_t i = 0; i < values; i += kGroup)
        for (std::size_t j = i; j < values; j += kGroup) {
            double* of[kGroup][kGroup] = {};
            for (std::size_t a = 0; a < kGroup && i + a < values; ++a)
                for (std::size_t b = i == j ? a : 0; b < kGroup && j + b < values; ++b)
                    of[a][b] = lanes[firstPairOf(i + a, values) + (j + b) - (i + a)];
            const std::size_t more = values - j;
            if (i == j)
                (more == 1   ? addProducts<V, 1, 1, true>
                 : more == 2 ? addProducts<V, 2, 2, true>
                             : addProducts<V, 3, 3, true>)(x + i, x + j, of, count);
            else
                (more == 1   ? addProducts<V, 3, 1, false>
                 : more == 2 ? addProducts<V, 3, 2, false>
                             : addProducts<V, 3, 3, false>)(x + i, x + j, of, count);
        }
}

/// Magnitude from which on the product of two is a normal float32.
constexpr std::uint32_t kLeastPlain = (127u - 74u) << 23;

template <class V>
struct Signs {
    typename V::Ints magnitude;
    std::uint64_t nonZero, negative;

    explicit Signs(typename V::Floats x)
        : magnitude(V::both(V::asInts(x), V::ints(0x7FFF'FFFFu))),
          nonZero(V::bits(V::less(V::ints(0), magnitude))),
          negative(V::bits(V::lessUnsigned(V::ints(0x7FFF'FFFFu), V::asInts(x)))) {}
};

template <class V, DType In>
void signedTile(const Terms& terms, SignedTile& tile, std::size_t count) {
    Largest<Scalar> most, negated;
    std::size_t begin = 0;
    if constexpr (V::lanes > 1) {
        constexpr std::size_t block = kAbreast * V::lanes;
        static_assert(kInWord % block == 0);
        // Negates magnitudes: the largest then shows the smallest except 0.
        Largest<V> wide, wideNegated;
        inTermsOf(terms, [&]<bool isDifference>() __attribute__((always_inline)) {
            for (; begin + kInWord <= count; begin += kInWord) {
                for (std::size_t t = 0; t < terms.count; ++t)
                    fetchAhead<kInWord * sizeOf(In)>(terms.sources[t] + begin * sizeOf(In));
                std::uint64_t nonZero = 0, negative = 0;
#pragma GCC unroll 4
                for (std::size_t part = 0; part < kInWord; part += block) {
                    typename V::Floats x[kAbreast];
                    sumFour<V, In, DType::F32, isDifference>(terms, begin + part, x);
                    for (std::size_t n = 0; n < kAbreast; ++n) {
                        const std::size_t at = part + n * V::lanes;
                        V::storeFloats(x[n], reinterpret_cast<std::byte*>(tile.x + begin + at));
                        const Signs<V> signs(x[n]);
                        wide.addMagnitude(signs.magnitude);
                        wideNegated.addMagnitude(V::subtract(V::ints(0), signs.magnitude));
                        nonZero |= signs.nonZero << at;
                        negative |= signs.negative << at;
                    }
                }
                tile.nonZero[begin / kInWord] = nonZero;
                tile.negative[begin / kInWord] = negative;
            }
        });
        most.lanes = wide.bits();
        negated.lanes = wideNegated.bits();
        if (most.lanes > kInfinity32) begin = 0;
    }
    for (; begin < count; begin += kInWord) {
        std::uint64_t nonZero = 0, negative = 0;
        for (std::size_t i = begin; i < count && i < begin + kInWord; ++i) {
            const float x = canonical<Scalar>(sumOne<In>(terms, i));
            const Signs<Scalar> signs(x);
            tile.x[i] = x;
            most.addMagnitude(signs.magnitude);
            negated.addMagnitude(0 - signs.magnitude);
            nonZero |= signs.nonZero << (i - begin);
            negative |= signs.negative << (i - begin);
        }
        tile.nonZero[begin / kInWord] = nonZero;
        tile.negative[begin / kInWord] = negative;
    }
    tile.isPlain = most.bits() < kInfinity32 && negated.bits() <= 0 - kLeastPlain;
}

/// Counts in each lane; 32 bits are enough for a tile.
template <class V>
struct SignCounts {
    typename V::Ints zero, negative;

    void add(typename V::Floats product) {
        const auto bits = V::asInts(product);
        const auto magnitude = V::both(bits, V::ints(0x7FFF'FFFFu));
        zero = V::count(zero, V::equal(magnitude, V::ints(0)));
        negative = V::count(negative, V::lessUnsigned(V::ints(0x8000'0000u), bits));
    }
};

template <class V>
std::uint64_t totalOf(typename V::Ints counts) {
    std::uint32_t lanes[V::lanes];
    V::storeFloats(V::asFloats(counts), reinterpret_cast<std::byte*>(lanes));
    std::uint64_t sum = 0;
    for (const std::uint32_t lane : lanes) sum += lane;
    return sum;
}

/// Counts the signs of products, because a product may be 0 although no factor is.
template <class V>
void countProducts(const float* x, const float* y, std::uint64_t* counts, std::size_t count) {
    SignCounts<V> wide{V::ints(0), V::ints(0)};
    SignCounts<Scalar> rest{0, 0};
    std::size_t i = 0;
    for (; i + V::lanes <= count; i += V::lanes) wide.add(V::multiply(loadFrom<V>(x + i), loadFrom<V>(y + i)));
    for (; i < count; ++i) rest.add(Scalar::multiply(x[i], y[i]));
    const std::uint64_t both = count - totalOf<V>(wide.zero) - rest.zero;
    counts[0] += both;
    counts[1] += both - totalOf<V>(wide.negative) - rest.negative;
}

template <class V>
void agreements(const SignedTile* tiles, std::size_t values, std::uint64_t (*counts)[2], std::size_t count) {
    const std::size_t words = (count + kInWord - 1) / kInWord;
    for (std::size_t pair = 0, i = 0; i < values; ++i) {
        ++pair;
        for (std::size_t j = i + 1; j < values; ++j, ++pair) {
            const SignedTile &a = tiles[i], &b = tiles[j];
            if (!a.isPlain || !b.isPlain) {
                countProducts<V>(a.x, b.x, counts[pair], count);
                continue;
            }
            std::uint64_t nonZero = 0, positive = 0;
            for (std::size_t w = 0; w < words; ++w) {
                const std::uint64_t both = a.nonZero[w] & b.nonZero[w];
                nonZero += static_cast<std::uint64_t>(__builtin_popcountll(both));
                positive += static_cast<std::uint64_t>(
                    __builtin_popcountll(both & ~(a.negative[w] ^ b.negative[w])));
            }
            counts[pair][0] += nonZero;
            counts[pair][1] += positive;
        }
    }
}

/// Counts of elements outside the bins, by SIMD lane.
template <class V, std::size_t Candidates>
struct Counts {
    typename V::Ints above, exact[Candidates + 1];
};

/// Only elements in the window that are no candidates take scalar steps; such elements are few.
template <class V, std::size_t Candidates>
[[gnu::always_inline]] inline void histogramOf(typename V::Floats x, const Window& window, std::uint32_t* bins,
                                               Counts<V, Candidates>& found) {
    auto magnitudes = V::both(V::asInts(x), V::ints(0x7FFF'FFFFu));
    found.above = V::count(found.above, V::less(V::ints(window.last), magnitudes));
    for (std::size_t c = 0; c < Candidates; ++c) {
        const auto equal = V::equal(magnitudes, V::ints(window.candidates[c]));
        found.exact[c] = V::count(found.exact[c], equal);
        // Sets counted elements to 0, which is below every window.
        magnitudes = V::select(equal, V::ints(0), magnitudes);
    }
    // Below the window, subtraction wraps around to far above its length, which may be 0.
    const auto offsets = V::subtract(magnitudes, V::ints(window.low));
    std::uint32_t within = V::bits(V::lessUnsigned(offsets, V::ints(window.last - window.low + 1)));
    if (within == 0) return;
    std::uint32_t places[V::lanes];
    V::storeFloats(V::asFloats(offsets), reinterpret_cast<std::byte*>(places));
    for (; within != 0; within &= within - 1) ++bins[places[__builtin_ctz(within)] >> window.shift];
}

template <class V, std::size_t Candidates>
void addCounts(const Counts<V, Candidates>& found, std::uint64_t& above, std::uint64_t* exact) {
    above += totalOf<V>(found.above);
    for (std::size_t c = 0; c < Candidates; ++c) exact[c] += totalOf<V>(found.exact[c]);
}

template <class V, DType In, std::size_t Candidates>
std::uint64_t histogramOver(const Terms& terms, const Window& shared, std::uint32_t* bins, std::uint64_t* exact,
                            std::size_t count) {
    constexpr std::size_t block = kAbreast * V::lanes;
    // Copies, because the compiler must assume that bins alias the original.
    const Window window = shared;
    // NaN payloads matter only to a window that contains NaN.
    const bool isExact = window.last > kInfinity32;
    Counts<V, Candidates> found;
    Counts<Scalar, Candidates> rest{};
    found.above = V::ints(0);
    for (auto& lanes : found.exact) lanes = V::ints(0);
    std::size_t i = 0;
    if constexpr (V::lanes > 1)
        for (; i + block <= count; i += block) {
            typename V::Floats x[kAbreast];
            for (std::size_t t = 0; t < terms.count; ++t)
                fetchAhead<block * sizeOf(In)>(terms.sources[t] + i * sizeOf(In));
            sumFour<V, In, DType::F32>(terms, i, x);
            for (std::size_t n = 0; n < kAbreast; ++n)
                histogramOf<V, Candidates>(isExact ? canonical<V>(x[n]) : x[n], window, bins, found);
        }
    for (; i < count; ++i)
        histogramOf<Scalar, Candidates>(canonical<Scalar>(sumOne<In>(terms, i)), window, bins, rest);
    std::uint64_t above = 0;
    addCounts<V, Candidates>(found, above, exact);
    addCounts<Scalar, Candidates>(rest, above, exact);
    return above;
}

template <class V, DType In>
std::uint64_t histogram(const Terms& terms, const Window& window, std::uint32_t* bins, std::uint64_t* exact,
                        std::size_t count) {
    static_assert(kCandidates == 4);
    const auto over = [&]<std::size_t Candidates>() {
        return histogramOver<V, In, Candidates>(terms, window, bins, exact, count);
    };
    switch (window.wanted) {
        case 0:
            return over.template operator()<0>();
        case 1:
            return over.template operator()<1>();
        case 2:
            return over.template operator()<2>();
        default:
            return over.template operator()<kCandidates>();
    }
}

}  // namespace
}  // namespace layerloom
