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

template <class V>
void dot(const float* x, const float* y, double* lanes, std::size_t count) {
    sumInLanes<V>(lanes, count, [x, y]<class U>(std::size_t i) {
        return U::multiply(U::widen(loadFrom<U>(x + i)), U::widen(loadFrom<U>(y + i)));
    });
}

/// 1 in the lanes whose number is not 0.
template <class V>
typename V::Ints isNonZero(typename V::Ints bits) {
    return V::select(V::less(V::ints(0), V::both(bits, V::ints(0x7FFF'FFFFu))), V::ints(1), V::ints(0));
}

/// Adds to vectors of counts, a 1 for each element.
template <class V>
void compareSignsAt(const float* x, const float* y, typename V::Ints& both, typename V::Ints& same) {
    const auto a = V::asInts(loadFrom<V>(x)), b = V::asInts(loadFrom<V>(y));
    const auto count = V::both(isNonZero<V>(a), isNonZero<V>(b));
    // The sum's lowest bit is 1 where the signs differ.
    const auto differ = V::both(V::add(V::template right<31>(a), V::template right<31>(b)), V::ints(1));
    both = V::add(both, count);
    same = V::add(same, V::both(count, V::subtract(V::ints(1), differ)));
}

template <class V>
void compareSigns(const float* x, const float* y, std::uint64_t* counts, std::size_t count) {
    auto both = V::ints(0), same = V::ints(0);
    std::size_t i = 0;
    for (; i + V::lanes <= count; i += V::lanes) compareSignsAt<V>(x + i, y + i, both, same);
    std::uint32_t bothOf[V::lanes], sameOf[V::lanes];
    V::storeFloats(V::asFloats(both), reinterpret_cast<std::byte*>(bothOf));
    V::storeFloats(V::asFloats(same), reinterpret_cast<std::byte*>(sameOf));
    for (std::size_t lane = 0; lane < V::lanes; ++lane) {
        counts[0] += bothOf[lane];
        counts[1] += sameOf[lane];
    }
    for (; i < count; ++i) {
        std::uint32_t one = 0, two = 0;
        compareSignsAt<Scalar>(x + i, y + i, one, two);
        counts[0] += one;
        counts[1] += two;
    }
}

}  // namespace
}  // namespace layerloom
