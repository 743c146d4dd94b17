#pragma once
#include <cstddef>
#include <optional>
#include <vector>

#include "../kernels/kernels.hpp"
#include "status.hpp"

namespace layerloom {

/// Columns of a tile of a large matrix, but for the last one's. Part of the numeric contract: products are summed
/// tile by tile.
inline constexpr std::size_t kTileColumns = 256;

/// A matrix of float64 in tiles of columns, one behind the other, each row by row. The last tile is filled with
/// zeros to whole panels.
class TiledRows {
  public:
    TiledRows(std::size_t rows, std::size_t columns);

    std::size_t rows() const { return rows_; }
    std::size_t tiles() const { return (padded_ + kTileColumns - 1) / kTileColumns; }
    /// Columns of a tile, a multiple of kPanel.
    std::size_t width(std::size_t tile) const;
    double* tile(std::size_t tile) { return numbers_.data() + tile * kTileColumns * rows_; }
    double& at(std::size_t row, std::size_t column) {
        const std::size_t in = column / kTileColumns;
        return tile(in)[row * width(in) + column % kTileColumns];
    }

  private:
    std::size_t rows_, padded_;
    std::vector<double> numbers_;
};

/// A pivot of a Cholesky factorisation that is too small: the column, from 0 on, and what stood on the diagonal.
struct SmallPivot {
    std::size_t column;
    double diagonal;
};

/// A symmetric positive definite matrix of float64, of which the lower half is stored in square tiles: about
/// 4 · size² bytes. By its Cholesky factor L, X ← X S⁻¹ is found without an inverse of S. Every inner product is
/// summed in an order of its own, on every instruction set.
class Definite {
  public:
    explicit Definite(std::size_t size);

    /// An element on the diagonal or below it, to be added to.
    double& at(std::size_t row, std::size_t column);

    /// Adds XᵀX: blocks of kTileColumns rows in order, each of which is summed from 0. @return Done or Cancelled
    Outcome addGram(const Kernels& kernels, TiledRows& x, const Control& control);

    /// Returns the square root of the sum of all squares, which no eigenvalue exceeds.
    double norm();

    /// S ← I + factor · S.
    void scaleOntoOne(double factor);

    /// Replaces S by its factor, and the tiles on the diagonal by their inverses.
    ///
    /// @param least pivots below this share of the element that stood on the diagonal end it
    /// @return Done or Cancelled; `small` is set where a pivot is too small
    Outcome factorise(const Kernels& kernels, double least, const Control& control,
                      std::optional<SmallPivot>& small);

    /// x ← x S⁻¹, once factorised. @return Done or Cancelled
    Outcome solve(const Kernels& kernels, TiledRows& x, const Control& control);

  private:
    std::size_t tiles() const { return rows_.size(); }
    std::size_t width(std::size_t tile) const;
    double* tile(std::size_t row, std::size_t column);
    /// Packs −L(row, column), or its transpose, as the right side of a product.
    void pack(std::size_t row, std::size_t column, bool transposed, double sign);
    /// Replaces a tile on the diagonal by the inverse of its factor.
    std::optional<SmallPivot> invert(std::size_t tile, double least);

    std::size_t size_, padded_;
    std::vector<std::vector<double>> rows_;  ///< for each row of tiles those up to the diagonal
    std::vector<double> diagonal_, packed_, product_;
};

}  // namespace layerloom
