#include "convert.hpp"
#include "kernels.hpp"

namespace layerloom {
namespace {

template <class V>
struct DifferenceSums {
    typename V::Wide largest, absolute, squares, squaresOfFirst;

    static DifferenceSums load(const DifferenceLanes& lanes, std::size_t lane) {
        return {V::loadWide(lanes.largest + lane), V::loadWide(lanes.absolute + lane),
                V::loadWide(lanes.squares + lane), V::loadWide(lanes.squaresOfFirst + lane)};
    }

    void store(DifferenceLanes& lanes, std::size_t lane) const {
        V::storeWide(largest, lanes.largest + lane);
        V::storeWide(absolute, lanes.absolute + lane);
        V::storeWide(squares, lanes.squares + lane);
        V::storeWide(squaresOfFirst, lanes.squaresOfFirst + lane);
    }
};

/// Counts in each lane; 32 bits are enough for a tile.
template <class V>
struct DifferenceTallies {
    typename V::Ints equal, nonFinite;
};

/// Gives equal numbers equal bits: zeros become +0, and NaN canonical.
template <class V>
typename V::Ints comparable(typename V::Floats x, typename V::Ints magnitude) {
    const auto number = V::select(V::equal(magnitude, V::ints(0)), V::ints(0), V::asInts(x));
    return V::select(V::less(V::ints(kInfinity32), magnitude), V::ints(kCanonicalNan32), number);
}

template <class V>
[[gnu::always_inline]] inline void differenceAt(const float* a, const float* b, std::size_t i,
                                                DifferenceSums<V>& sums, DifferenceTallies<V>& tallies) {
    const auto x = V::loadFloats(reinterpret_cast<const std::byte*>(a + i));
    const auto y = V::loadFloats(reinterpret_cast<const std::byte*>(b + i));
    const auto ofX = V::both(V::asInts(x), V::ints(0x7FFF'FFFFu));
    const auto ofY = V::both(V::asInts(y), V::ints(0x7FFF'FFFFu));
    tallies.equal = V::count(tallies.equal, V::equal(comparable<V>(x, ofX), comparable<V>(y, ofY)));
    const auto isX = V::less(ofX, V::ints(kInfinity32)), isY = V::less(ofY, V::ints(kInfinity32));
    const auto one = V::select(isX, V::select(isY, V::ints(1), V::ints(0)), V::ints(0));
    const auto leftOut = V::equal(one, V::ints(0));
    tallies.nonFinite = V::count(tallies.nonFinite, leftOut);
    // An element that is not finite in one tile counts as 0 in both.
    const auto finiteX = V::select(leftOut, V::ints(0), V::asInts(x));
    const auto finiteY = V::select(leftOut, V::ints(0), V::asInts(y));
    const auto sign = V::ints(0x8000'0000u);
    const auto wideX = V::widen(V::asFloats(finiteX)), wideY = V::widen(V::asFloats(finiteY));
    const auto difference = V::add(wideX, V::widen(V::asFloats(V::oneOf(finiteY, sign))));
    const auto reversed = V::add(wideY, V::widen(V::asFloats(V::oneOf(finiteX, sign))));
    const auto magnitude = V::larger(difference, reversed);
    sums.largest = V::larger(sums.largest, magnitude);
    sums.absolute = V::add(sums.absolute, magnitude);
    sums.squares = V::add(sums.squares, V::multiply(magnitude, magnitude));
    sums.squaresOfFirst = V::add(sums.squaresOfFirst, V::multiply(wideX, wideX));
}

template <class V>
void difference(const float* a, const float* b, DifferenceLanes& lanes, DifferenceCounts& counts,
                std::size_t count) {
    constexpr std::size_t vectors = kLanes / V::lanes;
    const std::size_t whole = count / kLanes * kLanes;
    DifferenceTallies<V> tallies{V::ints(0), V::ints(0)};
    DifferenceTallies<Scalar> rest{0, 0};
    // Keeps sums in registers.
    for (std::size_t v = 0; v < vectors; ++v) {
        auto sums = DifferenceSums<V>::load(lanes, v * V::lanes);
        for (std::size_t i = v * V::lanes; i < whole; i += kLanes) differenceAt<V>(a, b, i, sums, tallies);
        sums.store(lanes, v * V::lanes);
    }
    for (std::size_t i = whole; i < count; ++i) {
        auto sums = DifferenceSums<Scalar>::load(lanes, i - whole);
        differenceAt<Scalar>(a, b, i, sums, rest);
        sums.store(lanes, i - whole);
    }
    std::uint32_t equal[V::lanes], nonFinite[V::lanes];
    V::storeFloats(V::asFloats(tallies.equal), reinterpret_cast<std::byte*>(equal));
    V::storeFloats(V::asFloats(tallies.nonFinite), reinterpret_cast<std::byte*>(nonFinite));
    std::uint64_t same = rest.equal, leftOut = rest.nonFinite;
    for (std::size_t lane = 0; lane < V::lanes; ++lane) {
        same += equal[lane];
        leftOut += nonFinite[lane];
    }
    counts.unequal += count - same;
    counts.nonFinite += leftOut;
}

}  // namespace
}  // namespace layerloom
