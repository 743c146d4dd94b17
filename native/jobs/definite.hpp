#pragma once
#include <cstddef>
#include <optional>
#include <vector>

#include "../kernels/kernels.hpp"
#include "status.hpp"
#include "tiled_rows.hpp"

namespace layerloom {

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

    /// x ← x L⁻ᵀ, once factorised: where S was xᵀx, the columns are orthonormal. @return Done or Cancelled
    Outcome divide(const Kernels& kernels, TiledRows& x, const Control& control);

    std::size_t size() const { return size_; }
    std::size_t tiles() const { return rows_.size(); }
    /// Rows and columns of a tile on the diagonal, a multiple of kPanel.
    std::size_t width(std::size_t tile) const { return tileWidth(padded_, tile); }
    /// A tile on the diagonal or below it, row by row.
    double* tile(std::size_t row, std::size_t column) {
        return rows_[row].data() + width(row) * column * kTileColumns;
    }

  private:
    /// x_j ← x_j · T⁻¹, of the triangle on the diagonal, or its transpose.
    void divideTile(const Kernels& kernels, TiledRows& x, std::size_t j, bool transposed);
    /// x_j ← x_j − x_from · L(from, j), or L(j, from)ᵀ.
    void subtractTile(const Kernels& kernels, TiledRows& x, std::size_t from, std::size_t j, bool transposed);
    /// Packs −L(row, column), or its transpose, as the right side of a product.
    void pack(std::size_t row, std::size_t column, bool transposed, double sign);
    /// Replaces a tile on the diagonal by the inverse of its factor.
    std::optional<SmallPivot> invert(std::size_t tile, double least);

    std::size_t size_, padded_;
    std::vector<std::vector<double>> rows_;  ///< for each row of tiles those up to the diagonal
    std::vector<double> diagonal_, packed_, product_;
};

}  // namespace layerloom
