// The text of the kernels that sum float32 tiles, compiled once for each instruction set like
// elementwise.inl, which includes it.
#include "kernels.hpp"

namespace layerloom {
namespace {

template <class V>
typename V::Floats magnitudeOf(typename V::Floats x) {
    return V::asFloats(V::both(V::asInts(x), V::ints(0x7FFF'FFFFu)));
}

template <class V>
typename V::Floats loadFrom(const float* at) {
    return V::loadFloats(reinterpret_cast<const std::byte*>(at));
}

template <class V>
void addMagnitudes(const float* x, double* sums, std::size_t count) {
    std::size_t i = 0;
    for (; i + V::lanes <= count; i += V::lanes)
        V::storeWide(V::add(V::loadWide(sums + i), V::widen(magnitudeOf<V>(loadFrom<V>(x + i)))), sums + i);
    for (; i < count; ++i) sums[i] += magnitudeOf<Scalar>(x[i]);
}

/// Sums `term(V, i)`, a vector of float64 for the elements from i on, into lanes by i % kLanes.
template <class V, class Term>
[[gnu::always_inline]] inline void sumInLanes(double* lanes, std::size_t count, const Term& term) {
    constexpr std::size_t vectors = kLanes / V::lanes;
    typename V::Wide sums[vectors];
    for (std::size_t v = 0; v < vectors; ++v) sums[v] = V::loadWide(lanes + v * V::lanes);
    std::size_t i = 0;
    for (; i + kLanes <= count; i += kLanes)
        for (std::size_t v = 0; v < vectors; ++v)
            sums[v] = V::add(sums[v], term.template operator()<V>(i + v * V::lanes));
    for (std::size_t v = 0; v < vectors; ++v) V::storeWide(sums[v], lanes + v * V::lanes);
    for (std::size_t lane = 0; i < count; ++i, ++lane) lanes[lane] += term.template operator()<Scalar>(i);
}

template <class V>
void sumMagnitudes(const float* x, double* lanes, std::size_t count) {
    sumInLanes<V>(lanes, count,
                  [x]<class U>(std::size_t i) { return U::widen(magnitudeOf<U>(loadFrom<U>(x + i))); });
}

/// Vectors of float32 products that are summed before the sum is widened: part of the contract.
constexpr std::size_t kRun = 8;

template <class V>
void dot(const float* x, const float* y, double* lanes, std::size_t count) {
    constexpr std::size_t vectors = kLanes / V::lanes;
    std::size_t i = 0;
    for (; i + kRun * kLanes <= count; i += kRun * kLanes)
        for (std::size_t v = 0; v < vectors; ++v) {
            const float *a = x + i + v * V::lanes, *b = y + i + v * V::lanes;
            auto sum = V::multiply(loadFrom<V>(a), loadFrom<V>(b));
            for (std::size_t run = 1; run < kRun; ++run)
                sum = V::add(sum, V::multiply(loadFrom<V>(a + run * kLanes), loadFrom<V>(b + run * kLanes)));
            double* at = lanes + v * V::lanes;
            V::storeWide(V::add(V::loadWide(at), V::widen(sum)), at);
        }
    for (std::size_t lane = 0; i < count; ++i, ++lane) lanes[lane % kLanes] += x[i] * y[i];
}

/// Adds to vectors of counts: 1 where the product is not 0, and 1 where it is below.
template <class V>
void compareSignsAt(const float* x, const float* y, typename V::Ints& both, typename V::Ints& differ) {
    const auto product = V::asInts(V::multiply(loadFrom<V>(x), loadFrom<V>(y)));
    const auto magnitude = V::both(product, V::ints(0x7FFF'FFFFu));
    const auto one = V::select(V::less(V::ints(0), magnitude), V::ints(1), V::ints(0));
    both = V::add(both, one);
    differ = V::add(differ, V::both(one, V::template right<31>(product)));
}

template <class V>
void compareSigns(const float* x, const float* y, std::uint64_t* counts, std::size_t count) {
    auto both = V::ints(0), differ = V::ints(0);
    std::size_t i = 0;
    for (; i + V::lanes <= count; i += V::lanes) compareSignsAt<V>(x + i, y + i, both, differ);
    std::uint32_t bothOf[V::lanes], differOf[V::lanes];
    V::storeFloats(V::asFloats(both), reinterpret_cast<std::byte*>(bothOf));
    V::storeFloats(V::asFloats(differ), reinterpret_cast<std::byte*>(differOf));
    for (std::size_t lane = 0; lane < V::lanes; ++lane) {
        counts[0] += bothOf[lane];
        counts[1] += bothOf[lane] - differOf[lane];
    }
    for (; i < count; ++i) {
        std::uint32_t one = 0, two = 0;
        compareSignsAt<Scalar>(x + i, y + i, one, two);
        counts[0] += one;
        counts[1] += one - two;
    }
}

/// Counts elements i … i + lanes − 1 and returns how many are above the window.
template <class V, bool Narrow>
[[gnu::always_inline]] inline std::uint32_t histogramAt(const float* x, const Window& window,
                                                        std::uint32_t* counts, std::uint32_t* exact) {
    const auto magnitudes = V::both(V::asInts(loadFrom<V>(x)), V::ints(0x7FFF'FFFFu));
    // What is below the window wraps around to far above its width.
    const auto offsets = V::subtract(magnitudes, V::ints(window.low));
    std::uint32_t within = V::bits(V::lessUnsigned(offsets, V::ints(window.bins << window.shift)));
    const std::uint32_t below = V::bits(V::lessUnsigned(magnitudes, V::ints(window.low)));
    const auto above = static_cast<std::uint32_t>(V::lanes - __builtin_popcount(within | below));
    if (within != 0) {
        std::uint32_t places[V::lanes];
        V::storeFloats(V::asFloats(offsets), reinterpret_cast<std::byte*>(places));
        for (; within != 0; within &= within - 1) {
            const std::uint32_t offset = places[__builtin_ctz(within)];
            if constexpr (Narrow) {
                ++counts[offset];
            } else {
                ++counts[offset >> window.shift];
                for (std::size_t c = 0; c < window.wanted; ++c)
                    exact[c] += offset == window.candidates[c] ? 1 : 0;
            }
        }
    }
    return above;
}

template <class V, bool Narrow>
std::uint64_t histogramOver(const float* x, const Window& window, std::uint32_t* counts, std::uint32_t* exact,
                            std::size_t count) {
    std::uint64_t above = 0;
    std::size_t i = 0;
    for (; i + V::lanes <= count; i += V::lanes)
        above += histogramAt<V, Narrow>(x + i, window, counts, exact);
    for (; i < count; ++i) above += histogramAt<Scalar, Narrow>(x + i, window, counts, exact);
    return above;
}

template <class V>
std::uint64_t histogram(const float* x, const Window& shared, std::uint32_t* counts, std::uint64_t* exact,
                        std::size_t count) {
    // Copies of its own: counts could stand anywhere, for all that the compiler knows.
    Window window = shared;
    for (std::uint32_t& candidate : window.candidates) candidate -= window.low;
    std::uint32_t found[kCandidates] = {};
    const std::uint64_t above = window.shift == 0 ? histogramOver<V, true>(x, window, counts, found, count)
                                                  : histogramOver<V, false>(x, window, counts, found, count);
    for (std::size_t c = 0; c < kCandidates; ++c) exact[c] += found[c];
    return above;
}

}  // namespace
}  // namespace layerloom
