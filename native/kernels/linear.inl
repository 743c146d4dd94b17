#pragma once
#include "convert.hpp"
#include "kernels.hpp"
#include "random.inl"

namespace layerloom {
namespace {

/// Returns four vectors of Σ weights[t]·sources[t] from element `i` on, in the order of `loadFour`.
///
/// @tparam isDifference true for a difference, which needs no products
template <class V, DType In, DType Out, bool isDifference = false>
[[gnu::always_inline]] inline void sumFour(const Terms& terms, std::size_t i,
                                           typename V::Floats (&sums)[kAbreast]) {
    typename V::Floats x[kAbreast];
    if constexpr (isDifference) {
        loadFour<V, In, Out>(terms.sources[0] + i * sizeOf(In), sums);
        loadFour<V, In, Out>(terms.sources[1] + i * sizeOf(In), x);
        for (std::size_t n = 0; n < kAbreast; ++n) sums[n] = V::subtract(sums[n], x[n]);
        return;
    }
    loadFour<V, In, Out>(terms.sources[0] + i * sizeOf(In), x);
    for (std::size_t n = 0; n < kAbreast; ++n) sums[n] = V::multiply(V::floats(terms.weights[0]), x[n]);
    for (std::size_t t = 1; t < terms.count; ++t) {
        loadFour<V, In, Out>(terms.sources[t] + i * sizeOf(In), x);
        for (std::size_t n = 0; n < kAbreast; ++n)
            sums[n] = V::add(sums[n], V::multiply(V::floats(terms.weights[t]), x[n]));
    }
}

template <class Work>
[[gnu::always_inline]] inline void inTermsOf(const Terms& terms, const Work& work) {
    if (terms.count == 2 && terms.weights[0] == 1 && terms.weights[1] == -1)
        work.template operator()<true>();
    else
        work.template operator()<false>();
}

template <DType In>
[[gnu::always_inline]] inline float sumOne(const Terms& terms, std::size_t i) {
    float sum = terms.weights[0] * load<Scalar, In>(terms.sources[0] + i * sizeOf(In));
    for (std::size_t t = 1; t < terms.count; ++t) {
        const float product = terms.weights[t] * load<Scalar, In>(terms.sources[t] + i * sizeOf(In));
        sum = sum + product;
    }
    return sum;
}

/// Computes whole blocks, then single elements, with equal bits. If a block had NaN, computes all elements
/// again singly.
template <class V, DType In, DType Out>
bool linear(const std::byte* const* sources, const float* weights, std::size_t count, std::byte* out,
            std::size_t elements) {
    const Terms terms{sources, weights, count};
    constexpr std::size_t block = kAbreast * V::lanes;
    std::size_t i = 0;
    std::uint32_t largest = 0;
    if constexpr (V::lanes > 1) {
        Largest<V> inBlocks;
        for (; i + block <= elements; i += block) {
            typename V::Floats sums[kAbreast];
            sumFour<V, In, Out>(terms, i, sums);
            for (std::size_t n = 0; n < kAbreast; ++n) inBlocks.add(sums[n]);
            storeFour<V, In, Out>(sums, out + i * sizeOf(Out));
        }
        largest = inBlocks.bits();
        if (largest > kInfinity32) i = 0;
    }
    Largest<Scalar> alone{largest};
    for (; i < elements; ++i) {
        const float sum = sumOne<In>(terms, i);
        alone.add(sum);
        store<Scalar, Out>(sum, out + i * sizeOf(Out));
    }
    return alone.bits() < kBeyond<Out>;
}

template <class V>
typename V::Wide wideMagnitude(typename V::Floats x) {
    return V::widen(V::asFloats(V::both(V::asInts(x), V::ints(0x7FFF'FFFFu))));
}

/// Sums a block of columns over all rows, so that sums stay in registers.
template <class V, DType In>
void columnMagnitudes(const Terms& terms, std::size_t rows, std::size_t stride, double* sums,
                      std::size_t count) {
    constexpr std::size_t block = kAbreast * V::lanes;
    std::size_t c = 0;
    if constexpr (V::lanes > 1)
        inTermsOf(terms, [&]<bool isDifference>() __attribute__((always_inline)) {
            for (; c + block <= count; c += block) {
                typename V::Wide totals[kAbreast];
                for (std::size_t n = 0; n < kAbreast; ++n) totals[n] = V::loadWide(sums + c + n * V::lanes);
                for (std::size_t row = 0; row < rows; ++row) {
                    typename V::Floats x[kAbreast];
                    sumFour<V, In, DType::F32, isDifference>(terms, row * stride + c, x);
                    for (std::size_t n = 0; n < kAbreast; ++n)
                        totals[n] = V::add(totals[n], wideMagnitude<V>(x[n]));
                }
                for (std::size_t n = 0; n < kAbreast; ++n) V::storeWide(totals[n], sums + c + n * V::lanes);
            }
        });
    for (; c < count; ++c)
        for (std::size_t row = 0; row < rows; ++row)
            sums[c] += wideMagnitude<Scalar>(sumOne<In>(terms, row * stride + c));
}

template <class V, DType In, bool Drawn>
void addMagnitudes(const Terms& terms, const Draw& draw, float scale, std::uint64_t first, double* lanes,
                   std::size_t count) {
    constexpr std::size_t vectors = kLanes / V::lanes, block = kAbreast * V::lanes;
    std::size_t i = 0;
    if constexpr (V::lanes > 1) {
        // `totals` has a vector for each group of lanes. A block of four vectors adds to some of the lanes,
        // or twice to all.
        constexpr std::size_t step = block > kLanes ? block : kLanes;
        typename V::Wide totals[vectors];
        for (std::size_t v = 0; v < vectors; ++v) totals[v] = V::loadWide(lanes + v * V::lanes);
        inTermsOf(terms, [&]<bool isDifference>() __attribute__((always_inline)) {
            for (; i + step <= count; i += step)
                for (std::size_t part = 0; part < step; part += block) {
                    typename V::Floats x[kAbreast];
                    sumFour<V, In, DType::F32, isDifference>(terms, i + part, x);
                    if constexpr (Drawn) dropFrom<V>(draw, scale, first + i + part, x);
                    for (std::size_t n = 0; n < kAbreast; ++n) {
                        auto& total = totals[(part / V::lanes + n) % vectors];
                        total = V::add(total, wideMagnitude<V>(x[n]));
                    }
                }
        });
        for (std::size_t v = 0; v < vectors; ++v) V::storeWide(totals[v], lanes + v * V::lanes);
    }
    for (; i < count; ++i) {
        float x[1] = {sumOne<In>(terms, i)};
        if constexpr (Drawn) dropFrom<Scalar>(draw, scale, first + i, x);
        lanes[i % kLanes] += wideMagnitude<Scalar>(x[0]);
    }
}

template <class V, DType In>
void laneMagnitudes(const Terms& terms, const Draw* draw, float scale, std::uint64_t first, double* lanes,
                    std::size_t count) {
    if (draw == nullptr) return addMagnitudes<V, In, false>(terms, {}, scale, first, lanes, count);
    // Copies, because the compiler must assume that `lanes` aliases the original.
    addMagnitudes<V, In, true>(terms, Draw(*draw), scale, first, lanes, count);
}

}  // namespace
}  // namespace layerloom
