#include "tiled_rows.hpp"

namespace layerloom {

TiledRows::TiledRows(std::size_t rows, std::size_t columns)
    : rows_(rows), columns_(columns), padded_(wholePanels(columns)), numbers_(rows * padded_) {}

TiledRows TiledRows::transposed() {
    TiledRows result(columns_, rows_);
    for (std::size_t column = 0; column < columns_; ++column) {
        const double* const from = tile(column / kTileColumns) + column % kTileColumns;
        const std::size_t across = width(column / kTileColumns);
        for (std::size_t row = 0; row < rows_; ++row) result.at(column, row) = from[row * across];
    }
    return result;
}

void packPanels(const double* from, std::size_t rows, std::size_t columns, double sign, double* to) {
    for (std::size_t panel = 0; panel < columns; panel += kPanel)
        for (std::size_t row = 0; row < rows; ++row)
            for (std::size_t j = 0; j < kPanel; ++j) *to++ = sign * from[row * columns + panel + j];
}

Outcome addProduct(const Kernels& kernels, TiledRows& a, TiledRows& of, std::size_t from, TiledRows& sums,
                   std::size_t to, const Control& control) {
    std::vector<double> packed(kTileColumns * kTileColumns);
    for (std::size_t j = 0; j < of.tiles(); ++j) {
        const std::size_t across = of.width(j);
        for (std::size_t k = 0; k < a.tiles(); ++k) {
            if (control.cancelled()) return Outcome::Cancelled;
            const std::size_t first = k * kTileColumns, depth = std::min(kTileColumns, a.columns() - first);
            packPanels(of.tile(j) + (from + first) * across, depth, across, 1, packed.data());
            kernels.addWideProduct({a.tile(k), a.width(k), 1, a.rows(), depth, packed.data(), depth * kPanel,
                                    across / kPanel, sums.tile(j) + to * across});
        }
    }
    return Outcome::Done;
}

}  // namespace layerloom
