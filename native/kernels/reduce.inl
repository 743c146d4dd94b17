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

/// What a histogram finds besides the bins, by lane.
template <class V, std::size_t Candidates>
struct Counts {
    typename V::Ints above, exact[Candidates + 1];
};

/// Counts elements i … i + lanes − 1. The few that are within the window and no candidate cost a step each.
template <class V, std::size_t Candidates>
[[gnu::always_inline]] inline void histogramAt(const float* x, const Window& window, std::uint32_t* bins,
                                               Counts<V, Candidates>& found) {
    auto magnitudes = V::both(V::asInts(loadFrom<V>(x)), V::ints(0x7FFF'FFFFu));
    found.above = V::count(found.above, V::less(V::ints(window.last), magnitudes));
    for (std::size_t c = 0; c < Candidates; ++c) {
        const auto equal = V::equal(magnitudes, V::ints(window.candidates[c]));
        found.exact[c] = V::count(found.exact[c], equal);
        // Counted: 0 is below every window.
        magnitudes = V::select(equal, V::ints(0), magnitudes);
    }
    // What is below the window wraps around to far above its width.
    const auto offsets = V::subtract(magnitudes, V::ints(window.low));
    std::uint32_t within = V::bits(V::lessUnsigned(offsets, V::ints(window.last - window.low + 1)));
    if (within == 0) return;
    std::uint32_t places[V::lanes];
    V::storeFloats(V::asFloats(offsets), reinterpret_cast<std::byte*>(places));
    for (; within != 0; within &= within - 1) ++bins[places[__builtin_ctz(within)] >> window.shift];
}

template <class V, std::size_t Candidates>
void addCounts(const Counts<V, Candidates>& found, std::uint64_t& above, std::uint64_t* exact) {
    const auto total = [](typename V::Ints counts) {
        std::uint32_t lanes[V::lanes];
        V::storeFloats(V::asFloats(counts), reinterpret_cast<std::byte*>(lanes));
        std::uint64_t sum = 0;
        for (const std::uint32_t lane : lanes) sum += lane;
        return sum;
    };
    above += total(found.above);
    for (std::size_t c = 0; c < Candidates; ++c) exact[c] += total(found.exact[c]);
}

template <class V, std::size_t Candidates>
std::uint64_t histogramOver(const float* x, const Window& shared, std::uint32_t* bins, std::uint64_t* exact,
                            std::size_t count) {
    // A copy of its own: bins could stand anywhere, for all that the compiler knows.
    const Window window = shared;
    Counts<V, Candidates> found;
    Counts<Scalar, Candidates> rest{};
    found.above = V::ints(0);
    for (auto& lanes : found.exact) lanes = V::ints(0);
    std::size_t i = 0;
    for (; i + V::lanes <= count; i += V::lanes) histogramAt<V, Candidates>(x + i, window, bins, found);
    for (; i < count; ++i) histogramAt<Scalar, Candidates>(x + i, window, bins, rest);
    std::uint64_t above = 0;
    addCounts<V, Candidates>(found, above, exact);
    addCounts<Scalar, Candidates>(rest, above, exact);
    return above;
}

template <class V>
std::uint64_t histogram(const float* x, const Window& window, std::uint32_t* bins, std::uint64_t* exact,
                        std::size_t count) {
    static_assert(kCandidates == 4);
    const auto over = [&]<std::size_t Candidates>() {
        return histogramOver<V, Candidates>(x, window, bins, exact, count);
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
