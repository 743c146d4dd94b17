#pragma once
#include <memory>
#include <span>

#include "../kernels/linear.hpp"
#include "program.hpp"

namespace layerloom {

struct MatrixSize {
    std::size_t rows, columns;
};

/// A [experts·rank, in] and B [out, rank·experts].
struct Factors {
    Source a, b;
    std::size_t in, out;
};

struct Extent {
    std::size_t first, count;
};

/// The product of two stored matrices (Product in program.hpp), in blocks of whole rows; factors are widened
/// once a block. Private memory is a block of about kProductElements, and the thread's panels.
class ProductRows {
  public:
    /// @param size up to the last row needed
    ProductRows(const Kernels& kernels, const Product& product, const Factors& factors, MatrixSize size);

    /// Returns the elements up to the end of their block of rows. Call in ascending order, because earlier
    /// rows are discarded.
    std::span<const float> from(std::uint64_t element);

  private:
    void compute(std::size_t row);
    /// Widens the left factor of rows into [row][rank]. Returns the elements from a row to the next.
    std::size_t widenLeft(Extent rows, Extent ranks, float* out) const;
    /// Widens the right factor of columns into [rank][column].
    void widenRight(Extent columns, Extent ranks, float* out) const;
    void widen(const Source& source, std::size_t element, std::size_t count, float* out) const;
    /// Widens an expert's ranks of a row of B.
    void widenRanks(std::size_t output, Extent ranks, float* out) const;
    /// Returns where, in A, the elements of one rank of the present expert begin.
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
