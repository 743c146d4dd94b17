#pragma once
#include <algorithm>
#include <cstddef>
#include <vector>

#include "../kernels/kernels.hpp"
#include "status.hpp"

namespace layerloom {

/// Columns of a tile, except the last. Part of the numeric contract, because products are summed tile by
/// tile.
inline constexpr std::size_t kTileColumns = 256;

/// Rows that are solved together; no sum depends on this number.
inline constexpr std::size_t kSolvedRows = 512;

constexpr std::size_t wholePanels(std::size_t columns) { return (columns + kPanel - 1) / kPanel * kPanel; }

/// Returns a tile's columns, a multiple of kPanel. @param padded columns in whole panels
constexpr std::size_t tileWidth(std::size_t padded, std::size_t tile) {
    return std::min(kTileColumns, padded - tile * kTileColumns);
}

/// A float64 matrix in consecutive row-major tiles of columns; the last one is padded with zeros to whole
/// panels.
class TiledRows {
  public:
    TiledRows(std::size_t rows, std::size_t columns);

    std::size_t rows() const { return rows_; }
    std::size_t columns() const { return columns_; }
    std::size_t tiles() const { return (padded_ + kTileColumns - 1) / kTileColumns; }
    std::size_t width(std::size_t tile) const { return tileWidth(padded_, tile); }
    double* tile(std::size_t tile) { return numbers_.data() + tile * kTileColumns * rows_; }
    double& at(std::size_t row, std::size_t column) {
        const std::size_t in = column / kTileColumns;
        return tile(in)[row * width(in) + column % kTileColumns];
    }

    TiledRows transposed();

  private:
    std::size_t rows_, columns_, padded_;
    std::vector<double> numbers_;
};

/// Packs rows of a tile, times `sign`, as a right-hand factor. @param from [rows, columns] in whole panels
void packPanels(const double* from, std::size_t rows, std::size_t columns, double sign, double* to);

/// Adds a·b to the rows of `sums` from `to` on; b is the rows of `of` from `from` on. Sums inner products
/// over tiles of a in order, each from 0.
///
/// @return Done or Cancelled
Outcome addProduct(const Kernels& kernels, TiledRows& a, TiledRows& of, std::size_t from, TiledRows& sums,
                   std::size_t to, const Control& control);

}  // namespace layerloom
