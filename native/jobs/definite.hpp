#pragma once
#include <cstddef>
#include <optional>
#include <vector>

#include "../kernels/kernels.hpp"
#include "status.hpp"
#include "tiled_rows.hpp"

namespace layerloom {

/// Reports a pivot that is too small: its column, and the diagonal element before factorising.
struct SmallPivot {
    std::size_t column;
    double diagonal;
};

/// A symmetric positive definite matrix S of float64, whose lower half is in square tiles, about 4·size²
/// bytes. With the factor L, X ← X S⁻¹ needs no inverse of S. Bits are equal on every instruction set.
class Definite {
  public:
    explicit Definite(std::size_t size);

    /// An element on or below the diagonal.
    double& at(std::size_t row, std::size_t column);

    /// Adds XᵀX in blocks of kTileColumns rows, in order. Each block is summed from 0.
    ///
    /// @return Done or Cancelled
    Outcome addGram(const Kernels& kernels, TiledRows& x, const Control& control);

    /// Returns the Frobenius norm, which is at least the largest eigenvalue.
    double norm();

    /// S ← I + factor·S.
    void scaleOntoOne(double factor);

    /// Replaces S by its factor, and each diagonal tile by its inverse.
    ///
    /// @param least the smallest acceptable pivot, as a share of the diagonal element
    /// @return Done or Cancelled; sets `small` if a pivot is smaller
    Outcome factorise(const Kernels& kernels, double least, const Control& control,
                      std::optional<SmallPivot>& small);

    /// x ← x S⁻¹. Call after `factorise`.
    Outcome solve(const Kernels& kernels, TiledRows& x, const Control& control);

    /// x ← x L⁻ᵀ. Call after `factorise`. If S was xᵀx, columns become orthonormal.
    Outcome divide(const Kernels& kernels, TiledRows& x, const Control& control);

    std::size_t size() const { return size_; }
    std::size_t tiles() const { return rows_.size(); }
    std::size_t width(std::size_t tile) const { return tileWidth(padded_, tile); }
    /// Returns a row-major tile on or below the diagonal.
    double* tile(std::size_t row, std::size_t column) {
        return rows_[row].data() + width(row) * column * kTileColumns;
    }

  private:
    /// x_j ← x_j·T⁻¹, where T is the diagonal tile L(j, j) or its transpose.
    void divideTile(const Kernels& kernels, TiledRows& x, std::size_t j, bool transposed);
    /// x_j ← x_j − x_from·L(from, j), or L(j, from)ᵀ.
    void subtractTile(const Kernels& kernels, TiledRows& x, std::size_t from, std::size_t j, bool transposed);
    /// Packs sign·L(row, column), or its transpose, as the right-hand factor of a product.
    void pack(std::size_t row, std::size_t column, bool transposed, double sign);
    /// Replaces a diagonal tile by the inverse of its factor.
    std::optional<SmallPivot> invert(std::size_t tile, double least);

    std::size_t size_, padded_;
    std::vector<std::vector<double>> rows_;  ///< each row of tiles, up to the diagonal
    std::vector<double> diagonal_, packed_, product_;
};

}  // namespace layerloom
