// The text of the elementwise kernels, compiled once for each instruction set. A file in targets/ includes
// one of simd/*.hpp and then this, and makes its table with the struct it has found there.
#include "combine.inl"
#include "convert.hpp"
#include "difference.inl"
#include "kernels.hpp"
#include "panels.inl"
#include "product.inl"
#include "reduce.inl"

namespace layerloom {
namespace {

/// One block of output, from element `i` on.
template <class V, DType In, DType Out>
[[gnu::always_inline]] inline void linearBlock(const std::byte* const* sources, const float* weights,
                                               std::size_t terms, std::byte* out, std::size_t i) {
    typename V::Floats sums[kAbreast], x[kAbreast];
    loadFour<V, In, Out>(sources[0] + i * sizeOf(In), x);
    for (std::size_t n = 0; n < kAbreast; ++n) sums[n] = V::multiply(V::floats(weights[0]), x[n]);
    for (std::size_t t = 1; t < terms; ++t) {
        loadFour<V, In, Out>(sources[t] + i * sizeOf(In), x);
        for (std::size_t n = 0; n < kAbreast; ++n)
            sums[n] = V::add(sums[n], V::multiply(V::floats(weights[t]), x[n]));
    }
    storeFour<V, In, Out>(sums, out + i * sizeOf(Out));
}

template <DType In, DType Out>
[[gnu::always_inline]] inline void linearOne(const std::byte* const* sources, const float* weights,
                                             std::size_t terms, std::byte* out, std::size_t i) {
    float sum = weights[0] * load<Scalar, In>(sources[0] + i * sizeOf(In));
    for (std::size_t t = 1; t < terms; ++t) {
        const float product = weights[t] * load<Scalar, In>(sources[t] + i * sizeOf(In));
        sum = sum + product;
    }
    store<Scalar, Out>(sum, out + i * sizeOf(Out));
}

/// Whole blocks, then the last elements one by one, which gives the same bits.
template <class V, DType In, DType Out>
void linear(const std::byte* const* sources, const float* weights, std::size_t terms, std::byte* out,
            std::size_t count) {
    constexpr std::size_t block = kAbreast * V::lanes;
    std::size_t i = 0;
    if constexpr (V::lanes > 1)
        for (; i + block <= count; i += block) linearBlock<V, In, Out>(sources, weights, terms, out, i);
    for (; i < count; ++i) linearOne<In, Out>(sources, weights, terms, out, i);
}

/// In the order of DType.
template <class V>
constexpr Kernels makeKernels(const char* isa) {
    using enum DType;
    // clang-format off
    Kernels kernels{
        .isa = isa,
        .linear = {},
        .addMagnitudes = addMagnitudes<V>,
        .sumMagnitudes = sumMagnitudes<V>,
        .dot = dot<V>,
        .compareSigns = compareSigns<V>,
        .difference = difference<V>,
        .keep = keep,
        .randoms = randoms,
        .vote = {},
        .variance = variance,
        .nearSwap = nearSwap,
        .linearColumns = linearColumns,
        .histogram = histogram<V>,
        .countMagnitude = countMagnitude,
        .product = product<V>,
        .sumSigns = sumSigns,
        .addProduct = addProduct<V>,
        .addWideProduct = addWideProduct<V>,
    };
    // clang-format on
    const auto row = [&]<DType In>() {
        auto& entries = kernels.linear[static_cast<std::size_t>(In)];
        const auto entry = [&]<DType Out>() { entries[static_cast<std::size_t>(Out)] = linear<V, In, Out>; };
        entry.template operator()<BF16>();
        entry.template operator()<F16>();
        entry.template operator()<F32>();
        entry.template operator()<F8_E4M3>();
        entry.template operator()<F8_E5M2>();
    };
    const auto vote = [&]<DType Out>() {
        kernels.vote[static_cast<std::size_t>(Out)] = layerloom::vote<V, Out>;
    };
    vote.template operator()<BF16>();
    vote.template operator()<F16>();
    vote.template operator()<F32>();
    vote.template operator()<F8_E4M3>();
    vote.template operator()<F8_E5M2>();
    row.template operator()<BF16>();
    row.template operator()<F16>();
    row.template operator()<F32>();
    row.template operator()<F8_E4M3>();
    row.template operator()<F8_E5M2>();
    return kernels;
}

}  // namespace
}  // namespace layerloom
