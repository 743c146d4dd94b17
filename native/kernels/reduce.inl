// The text of the kernels that sum float32 tiles, compiled once for each instruction set like
// elementwise.inl, which includes it.
#include "convert.hpp"
#include "kernels.hpp"
#include "linear.inl"

namespace layerloom {
namespace {

template <class V>
typename V::Floats loadFrom(const float* at) {
    return V::loadFloats(reinterpret_cast<const std::byte*>(at));
}

/// Vectors of float32 products that are summed before the sum is widened: part of the contract.
constexpr std::size_t kRun = 8;

/// Sums products of elements in lanes, and shows each product to `look`.
template <class V, class Count>
[[gnu::always_inline]] inline void sumProducts(const float* x, const float* y, double* lanes, std::size_t count,
                                               const Count& look) {
    constexpr std::size_t vectors = kLanes / V::lanes;
    const auto product = [&]<class U>(const float* a, const float* b) {
        const auto of = U::multiply(loadFrom<U>(a), loadFrom<U>(b));
        look.template operator()<U>(of);
        return of;
    };
    std::size_t i = 0;
    for (; i + kRun * kLanes <= count; i += kRun * kLanes)
        for (std::size_t v = 0; v < vectors; ++v) {
            const float *a = x + i + v * V::lanes, *b = y + i + v * V::lanes;
            auto sum = product.template operator()<V>(a, b);
            for (std::size_t run = 1; run < kRun; ++run)
                sum = V::add(sum, product.template operator()<V>(a + run * kLanes, b + run * kLanes));
            double* at = lanes + v * V::lanes;
            V::storeWide(V::add(V::loadWide(at), V::widen(sum)), at);
        }
    for (std::size_t lane = 0; i < count; ++i, ++lane)
        lanes[lane % kLanes] += product.template operator()<Scalar>(x + i, y + i);
}

template <class V>
void dot(const float* x, const float* y, double* lanes, std::size_t count) {
    sumProducts<V>(x, y, lanes, count, []<class U>(typename U::Floats) {});
}

/// Counts of products, by lane. A tile has few enough for 32 bits.
template <class V>
struct SignCounts {
    typename V::Ints zero, negative;

    /// Counts those that are 0; and of the others those below.
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

template <class V>
void overlap(const float* x, const float* y, double* lanes, std::uint64_t* counts, std::size_t count) {
    SignCounts<V> wide{V::ints(0), V::ints(0)};
    SignCounts<Scalar> rest{0, 0};
    sumProducts<V>(x, y, lanes, count, [&]<class U>(typename U::Floats product) {
        if constexpr (U::lanes == V::lanes)
            wide.add(product);
        else
            rest.add(product);
    });
    const std::uint64_t both = count - totalOf<V>(wide.zero) - rest.zero;
    counts[0] += both;
    counts[1] += both - totalOf<V>(wide.negative) - rest.negative;
}

/// What a histogram finds besides the bins, by lane.
template <class V, std::size_t Candidates>
struct Counts {
    typename V::Ints above, exact[Candidates + 1];
};

/// Counts the elements of a vector. The few that are within the window and no candidate cost a step each.
template <class V, std::size_t Candidates>
[[gnu::always_inline]] inline void histogramOf(typename V::Floats x, const Window& window, std::uint32_t* bins,
                                               Counts<V, Candidates>& found) {
    auto magnitudes = V::both(V::asInts(x), V::ints(0x7FFF'FFFFu));
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
    above += totalOf<V>(found.above);
    for (std::size_t c = 0; c < Candidates; ++c) exact[c] += totalOf<V>(found.exact[c]);
}

template <class V, DType In, std::size_t Candidates>
std::uint64_t histogramOver(const Terms& terms, const Window& shared, std::uint32_t* bins, std::uint64_t* exact,
                            std::size_t count) {
    constexpr std::size_t block = kAbreast * V::lanes;
    // A copy of its own: bins could stand anywhere, for all that the compiler knows.
    const Window window = shared;
    // Which NaN an element is matters only to a window with NaN.
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
