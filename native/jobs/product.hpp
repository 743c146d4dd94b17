#pragma once
#include <memory>
#include <span>

#include "../kernels/linear.hpp"
#include "program.hpp"

namespace layerloom {

struct MatrixSize {
    std::size_t rows, columns;
};

/// A [experts · rank, in] and B [out, rank · experts].
struct Factors {
    Source a, b;
    std::size_t in, out;
};

/// Rows, columns or ranks of a matrix.
struct Extent {
    std::size_t first, count;
};

/// The product of two stored matrices (Product in program.hpp), made in blocks of whole rows: rows share the
/// work of widening the factors, which a tile of a few elements could not. Private memory is one block of
/// about kProductElements, and panels of the factors that each thread keeps.
class ProductRows {
  public:
    /// @param size of the product, up to the last row that is asked for
    ProductRows(const Kernels& kernels, const Product& product, const Factors& factors, MatrixSize size);

    /// The product from an element on, to the end of the rows that were computed with it. Ask in order: rows
    /// before it are forgotten.
    std::span<const float> from(std::uint64_t element);

  private:
    void compute(std::size_t row);
    /// Widens the factor of rows of the expert's matrix into [row][rank]. Returns the elements from a row to
    /// the next.
    std::size_t widenLeft(Extent rows, Extent ranks, float* out) const;
    /// Widens the factor of its columns into [rank][column], for a panel.
    void widenRight(Extent columns, Extent ranks, float* out) const;
    void widen(const Source& source, std::size_t element, std::size_t count, float* out) const;
    /// Widens ranks of a row of B, which for one rank has those of all experts.
    void widenRanks(std::size_t output, Extent ranks, float* out) const;
    /// Where a rank of the expert begins in A.
    std::size_t beginInA(std::size_t rank) const;

    const Kernels& kernels_;
    const Product product_;
    const Source a_, b_;
    const std::size_t in_;
    const std::size_t matrixRows_;  ///< of one expert
    const MatrixSize size_;
    const std::size_t blockRows_;
    std::unique_ptr<float[]> block_;
    std::uint64_t begin_ = 0, end_ = 0;  ///< elements of the block
    std::size_t expert_ = 0;             ///< of the block
};

}  // namespace layerloom
