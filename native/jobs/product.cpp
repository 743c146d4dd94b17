#include "product.hpp"

#include <algorithm>
#include <cstring>

namespace layerloom {
namespace {

/// Elements of a block, which with the panels fits into an L2 cache of 2 MiB.
constexpr std::size_t kProductElements = 256 * 1024;
/// Rows of a block are a multiple of this, which kernels take at once and which amortises the panels.
constexpr std::size_t kRowsTogether = 12;
constexpr std::size_t kMostRows = 21 * kRowsTogether;
/// Ranks of a panel, which stays in the L2 cache for all rows of a block.
constexpr std::size_t kPanelRanks = 4 * kProductRanks;
constexpr std::size_t kPanelColumns = 512;
/// Not a power of two, so that ranks do not compete for cache sets.
constexpr std::size_t kPanelStride = kPanelColumns + 16;

/// Factors of a block for kPanelRanks ranks, and elements to transpose.
struct Panels {
    float left[kMostRows * kPanelRanks];
    float right[kPanelRanks * kPanelStride];
    float aside[std::max(kMostRows, kPanelRanks)];
    std::byte ranks[kPanelRanks * sizeof(double)];
};

Panels& panels() {
    thread_local const auto kept = std::make_unique_for_overwrite<Panels>();
    return *kept;
}

std::size_t rowsOfBlock(MatrixSize size) {
    const std::size_t wanted = kProductElements / size.columns / kRowsTogether * kRowsTogether;
    return std::min(std::clamp(wanted, kRowsTogether, kMostRows), size.rows);
}

}  // namespace

ProductRows::ProductRows(const Kernels& kernels, const Product& product, const Factors& factors,
                         MatrixSize size)
    : kernels_(kernels),
      product_(product),
      a_(factors.a),
      b_(factors.b),
      in_(factors.in),
      matrixRows_(product.transposed ? factors.in : factors.out),
      size_(size),
      blockRows_(rowsOfBlock(size)),
      block_(std::make_unique_for_overwrite<float[]>(blockRows_ * size.columns)) {}

std::span<const float> ProductRows::from(std::uint64_t element) {
    if (element < begin_ || element >= end_) compute(static_cast<std::size_t>(element / size_.columns));
    return {block_.get() + (element - begin_), static_cast<std::size_t>(end_ - element)};
}

void ProductRows::compute(std::size_t row) {
    const std::size_t ofAll = static_cast<std::size_t>(product_.row) + row, inMatrix = ofAll % matrixRows_;
    const std::size_t rows = std::min({blockRows_, size_.rows - row, matrixRows_ - inMatrix});
    const std::size_t columns = size_.columns;
    expert_ = ofAll / matrixRows_;
    const auto rank = static_cast<std::size_t>(product_.rank);
    Panels& kept = panels();
    for (std::size_t k = 0; k < rank; k += kPanelRanks) {
        const Extent ranks{k, std::min(kPanelRanks, rank - k)};
        const std::size_t leftStride = widenLeft({inMatrix, rows}, ranks, kept.left);
        for (std::size_t column = 0; column < columns; column += kPanelColumns) {
            const std::size_t count = std::min(kPanelColumns, columns - column);
            widenRight({column, count}, ranks, kept.right);
            kernels_.product({kept.left, leftStride, kept.right, kPanelStride, ranks.count}, rows, count,
                             k > 0, block_.get() + column, columns);
        }
    }
    begin_ = std::uint64_t{row} * columns;
    end_ = begin_ + rows * columns;
}

std::size_t ProductRows::widenLeft(Extent rows, Extent ranks, float* out) const {
    const auto rank = static_cast<std::size_t>(product_.rank);
    if (product_.transposed) {
        float* const aside = panels().aside;
        for (std::size_t k = 0; k < ranks.count; ++k) {
            widen(a_, beginInA(ranks.first + k) + rows.first, rows.count, aside);
            for (std::size_t i = 0; i < rows.count; ++i) out[i * ranks.count + k] = aside[i];
        }
        return ranks.count;
    }
    // With one expert and all ranks, the numbers are contiguous.
    if (ranks.count == rank && product_.experts == 1) {
        widen(b_, rows.first * rank, rows.count * rank, out);
        return rank;
    }
    for (std::size_t row = 0; row < rows.count; ++row)
        widenRanks(rows.first + row, ranks, out + row * ranks.count);
    return ranks.count;
}

void ProductRows::widenRight(Extent columns, Extent ranks, float* out) const {
    if (!product_.transposed) {
        for (std::size_t k = 0; k < ranks.count; ++k)
            widen(a_, beginInA(ranks.first + k) + columns.first, columns.count, out + k * kPanelStride);
        return;
    }
    float* const aside = panels().aside;
    for (std::size_t column = 0; column < columns.count; ++column) {
        widenRanks(columns.first + column, ranks, aside);
        for (std::size_t k = 0; k < ranks.count; ++k) out[k * kPanelStride + column] = aside[k];
    }
}

std::size_t ProductRows::beginInA(std::size_t rank) const {
    return (expert_ * static_cast<std::size_t>(product_.rank) + rank) * in_;
}

void ProductRows::widenRanks(std::size_t output, Extent ranks, float* out) const {
    const auto rank = static_cast<std::size_t>(product_.rank),
               experts = static_cast<std::size_t>(product_.experts);
    if (experts == 1 || product_.grouped)
        return widen(b_, (output * experts + expert_) * rank + ranks.first, ranks.count, out);
    const std::size_t first = (output * rank + ranks.first) * experts + expert_;
    std::byte* const together = panels().ranks;
    const std::size_t bytes = sizeOf(b_.dtype);
    for (std::size_t k = 0; k < ranks.count; ++k)
        std::memcpy(together + k * bytes, b_.data + (first + k * experts) * bytes, bytes);
    widen({together, b_.dtype}, 0, ranks.count, out);
}

void ProductRows::widen(const Source& source, std::size_t element, std::size_t count, float* out) const {
    const Source from{source.data + element * sizeOf(source.dtype), source.dtype};
    linear(kernels_, {&from, 1}, kOne, {reinterpret_cast<std::byte*>(out), DType::F32}, count);
}

}  // namespace layerloom
