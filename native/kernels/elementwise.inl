// The elementwise kernels. Each file in targets/ includes a simd/*.hpp, then this file, and makes its table
// with the struct of simd/.
#include "combine.inl"
#include "convert.hpp"
#include "difference.inl"
#include "divergence.inl"
#include "kernels.hpp"
#include "linear.inl"
#include "panels.inl"
#include "product.inl"
#include "random.inl"
#include "reduce.inl"
#include "vote.inl"

namespace layerloom {
namespace {

/// Tables are in the order of DType.
template <class V>
constexpr Kernels makeKernels(const char* isa) {
    using enum DType;
    // clang-format off
    Kernels kernels{
        .isa = isa,
        .linear = {},
        .columnMagnitudes = {},
        .laneMagnitudes = {},
        .histogram = {},
        .products = products<V>,
        .signedTile = {},
        .agreements = agreements<V>,
        .difference = difference<V>,
        .keep = keep,
        .randoms = randoms<V>,
        .drop = drop<V>,
        .vote = {},
        .consensus = {},
        .variance = variance,
        .nearSwap = nearSwap,
        .fisher = fisher,
        .linearColumns = linearColumns,
        .isFinite = {isFinite<BF16>, isFinite<F16>, isFinite<F32>, isFinite<F64>, isFinite<F8_E4M3>,
                     isFinite<F8_E5M2>},
        .magnitudes = magnitudes,
        .countAlone = countAlone,
        .countMagnitude = countMagnitude,
        .product = product<V>,
        .scaleRuns = scaleRuns,
        .scaleHalves = scaleHalves,
        .sumSigns = sumSigns,
        .addProduct = addProduct<V>,
        .addWideProduct = addWideProduct<V>,
        .exponentials = exponentials,
        .divergences = divergences,
    };
    // clang-format on
    const auto row = [&]<DType In>() {
        kernels.columnMagnitudes[static_cast<std::size_t>(In)] = columnMagnitudes<V, In>;
        kernels.laneMagnitudes[static_cast<std::size_t>(In)] = laneMagnitudes<V, In>;
        kernels.histogram[static_cast<std::size_t>(In)] = histogram<V, In>;
        kernels.signedTile[static_cast<std::size_t>(In)] = signedTile<V, In>;
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
    const auto consensus = [&]<DType D>() {
        kernels.consensus[static_cast<std::size_t>(D)] = layerloom::consensus<V, D>;
    };
    consensus.template operator()<BF16>();
    consensus.template operator()<F16>();
    consensus.template operator()<F32>();
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
