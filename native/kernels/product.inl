#include <algorithm>

#include "convert.hpp"
#include "kernels.hpp"

namespace layerloom {
namespace {

/// Rows whose sums are in registers at once, so that each loaded number serves several sums, and additions
/// are independent.
template <class V>
constexpr std::size_t kProductRows = V::registers == 32 ? 6 : 4;
template <class V>
constexpr std::size_t kProductVectors = V::registers == 32 ? 4 : 2;

template <class V, std::size_t rows, std::size_t vectors>
[[gnu::always_inline]] inline void productBlock(const ProductPanels& panels, const float* left,
                                                const float* right, bool adds, float* out,
                                                std::size_t outStride) {
    using Floats = typename V::Floats;
    const auto at = [](const float* from, std::size_t v) {
        return V::loadFloats(reinterpret_cast<const std::byte*>(from + v * V::lanes));
    };
    for (std::size_t begin = 0; begin < panels.ranks; begin += kProductRanks) {
        Floats sums[rows][vectors];
        const auto addRank = [&](std::size_t k, const auto& add) {
            Floats x[vectors];
            for (std::size_t v = 0; v < vectors; ++v) x[v] = at(right + k * panels.rightStride, v);
            for (std::size_t r = 0; r < rows; ++r) {
                const Floats by = V::floats(left[r * panels.leftStride + k]);
                for (std::size_t v = 0; v < vectors; ++v) add(sums[r][v], V::multiply(by, x[v]));
            }
        };
        const std::size_t end = std::min(begin + kProductRanks, panels.ranks);
        addRank(begin, [](Floats& sum, Floats product) { sum = product; });
        for (std::size_t k = begin + 1; k < end; ++k)
            addRank(k, [](Floats& sum, Floats product) { sum = V::add(sum, product); });
        // Reads the previous content from the L1 cache, because there are not enough registers.
        for (std::size_t r = 0; r < rows; ++r)
            for (std::size_t v = 0; v < vectors; ++v) {
                float* const to = out + r * outStride;
                const Floats sum = adds || begin > 0 ? V::add(at(to, v), sums[r][v]) : sums[r][v];
                V::storeFloats(canonical<V>(sum), reinterpret_cast<std::byte*>(to + v * V::lanes));
            }
    }
}

/// Computes `vectors` SIMD vectors of columns, for all rows. The L1 cache holds their part of the right
/// factor.
template <class V, std::size_t vectors>
void productColumns(const ProductPanels& panels, std::size_t column, std::size_t rows, bool adds, float* out,
                    std::size_t outStride) {
    constexpr std::size_t most = kProductRows<V>;
    const auto block = [&]<std::size_t count>(std::size_t row) {
        productBlock<V, count, vectors>(panels, panels.left + row * panels.leftStride, panels.right + column,
                                        adds, out + row * outStride + column, outStride);
    };
    std::size_t row = 0;
    for (; row + most <= rows; row += most) block.template operator()<most>(row);
    for (; row < rows; ++row) block.template operator()<1>(row);
}

template <class V>
void product(const ProductPanels& panels, std::size_t rows, std::size_t columns, bool adds, float* out,
             std::size_t outStride) {
    constexpr std::size_t vectors = kProductVectors<V>;
    std::size_t column = 0;
    for (; column + vectors * V::lanes <= columns; column += vectors * V::lanes)
        productColumns<V, vectors>(panels, column, rows, adds, out, outStride);
    for (; column + V::lanes <= columns; column += V::lanes)
        productColumns<V, 1>(panels, column, rows, adds, out, outStride);
    for (; column < columns; ++column) productColumns<Scalar, 1>(panels, column, rows, adds, out, outStride);
}

}  // namespace
}  // namespace layerloom
