#include "definite.hpp"

#include <algorithm>
#include <cmath>

namespace layerloom {
namespace {

/// sums += a·b for a tile a [rows, depth] and a packed b. @param columns of b
void addTimes(const Kernels& kernels, const double* a, std::size_t rows, std::size_t depth, const double* packed,
              std::size_t columns, double* sums) {
    kernels.addWideProduct({a, depth, 1, rows, depth, packed, depth * kPanel, columns / kPanel, sums});
}

}  // namespace

Definite::Definite(std::size_t size)
    : size_(size),
      padded_(wholePanels(size)),
      rows_((padded_ + kTileColumns - 1) / kTileColumns),
      packed_(kTileColumns * kTileColumns) {
    for (std::size_t row = 0; row < tiles(); ++row)
        rows_[row].resize(width(row) * (row * kTileColumns + width(row)));
    // Pads with an identity matrix.
    for (std::size_t i = size; i < padded_; ++i) at(i, i) = 1;
}

double& Definite::at(std::size_t row, std::size_t column) {
    const std::size_t in = column / kTileColumns, of = row / kTileColumns;
    return tile(of, in)[row % kTileColumns * width(in) + column % kTileColumns];
}

Outcome Definite::addGram(const Kernels& kernels, TiledRows& x, const Control& control) {
    // A block of rows in panels, and one tile of it transposed.
    std::vector<double> panels(padded_ * kTileColumns), transposed(kTileColumns * kTileColumns);
    for (std::size_t first = 0; first < x.rows(); first += kTileColumns) {
        if (control.cancelled()) return Outcome::Cancelled;
        const std::size_t depth = std::min(kTileColumns, x.rows() - first);
        const auto panelsOf = [&](std::size_t tile) { return panels.data() + tile * kTileColumns * depth; };
        for (std::size_t i = 0; i < tiles(); ++i) {
            const std::size_t columns = width(i);
            const double* const from = x.tile(i) + first * columns;
            packPanels(from, depth, columns, 1, panelsOf(i));
            for (std::size_t k = 0; k < depth; ++k)
                for (std::size_t row = 0; row < columns; ++row) transposed[row * depth + k] = from[k * columns + row];
            for (std::size_t j = 0; j <= i; ++j)
                addTimes(kernels, transposed.data(), columns, depth, panelsOf(j), width(j), tile(i, j));
        }
    }
    return Outcome::Done;
}

double Definite::norm() {
    double squares = 0;
    for (std::size_t row = 0; row < size_; ++row) {
        double beside = 0;
        for (std::size_t column = 0; column < row; ++column) beside += at(row, column) * at(row, column);
        squares += 2 * beside + at(row, row) * at(row, row);
    }
    return std::sqrt(squares);
}

void Definite::scaleOntoOne(double factor) {
    for (auto& row : rows_)
        for (double& number : row) number *= factor;
    for (std::size_t i = 0; i < padded_; ++i) at(i, i) += 1;
}

void Definite::pack(std::size_t row, std::size_t column, bool transposed, double sign) {
    const double* from = tile(row, column);
    const std::size_t rows = width(row), columns = width(column);
    const std::size_t depth = transposed ? columns : rows, across = transposed ? rows : columns;
    double* to = packed_.data();
    for (std::size_t panel = 0; panel < across; panel += kPanel)
        for (std::size_t k = 0; k < depth; ++k)
            for (std::size_t j = 0; j < kPanel; ++j)
                *to++ = sign * (transposed ? from[(panel + j) * columns + k] : from[k * columns + panel + j]);
}

std::optional<SmallPivot> Definite::invert(std::size_t tile, double least) {
    const std::size_t n = width(tile);
    double* const l = this->tile(tile, tile);
    const auto at = [&](std::size_t row, std::size_t column) -> double& { return l[row * n + column]; };
    for (std::size_t c = 0; c < n; ++c) {
        double pivot = at(c, c);
        for (std::size_t k = 0; k < c; ++k) pivot -= at(c, k) * at(c, k);
        const double diagonal = diagonal_[tile * kTileColumns + c];
        // The negated condition also catches NaN.
        if (!(pivot > 0 && pivot >= least * diagonal)) return SmallPivot{tile * kTileColumns + c, diagonal};
        at(c, c) = std::sqrt(pivot);
        for (std::size_t row = c + 1; row < n; ++row) {
            double sum = at(row, c);
            for (std::size_t k = 0; k < c; ++k) sum -= at(row, k) * at(c, k);
            at(row, c) = sum / at(c, c);
        }
    }
    // Inverts L in place: column c of the inverse needs only columns c and later of L.
    for (std::size_t c = 0; c < n; ++c) {
        at(c, c) = 1 / at(c, c);
        for (std::size_t row = c + 1; row < n; ++row) {
            double sum = 0;
            for (std::size_t k = c; k < row; ++k) sum -= at(row, k) * at(k, c);
            at(row, c) = sum / at(row, row);
        }
        for (std::size_t row = 0; row < c; ++row) at(row, c) = 0;
    }
    return std::nullopt;
}

Outcome Definite::factorise(const Kernels& kernels, double least, const Control& control,
                            std::optional<SmallPivot>& small) {
    diagonal_.resize(padded_);
    for (std::size_t i = 0; i < padded_; ++i) diagonal_[i] = at(i, i);
    product_.resize(kTileColumns * kTileColumns);
    for (std::size_t j = 0; j < tiles(); ++j) {
        for (std::size_t k = 0; k < j; ++k) {
            if (control.cancelled()) return Outcome::Cancelled;
            pack(j, k, true, -1);
            for (std::size_t i = j; i < tiles(); ++i)
                addTimes(kernels, tile(i, k), width(i), width(k), packed_.data(), width(j), tile(i, j));
        }
        small = invert(j, least);
        if (small) return Outcome::Done;
        pack(j, j, true, 1);
        for (std::size_t i = j + 1; i < tiles(); ++i) {
            std::fill_n(product_.begin(), width(i) * width(j), 0.0);
            addTimes(kernels, tile(i, j), width(i), width(j), packed_.data(), width(j), product_.data());
            std::copy_n(product_.begin(), width(i) * width(j), tile(i, j));
        }
    }
    return Outcome::Done;
}

void Definite::divideTile(const Kernels& kernels, TiledRows& x, std::size_t j, bool transposed) {
    const std::size_t rows = x.rows();
    pack(j, j, transposed, 1);
    product_.resize(rows * kTileColumns);
    std::fill_n(product_.begin(), rows * width(j), 0.0);
    addTimes(kernels, x.tile(j), rows, width(j), packed_.data(), width(j), product_.data());
    std::copy_n(product_.begin(), rows * width(j), x.tile(j));
}

void Definite::subtractTile(const Kernels& kernels, TiledRows& x, std::size_t from, std::size_t j,
                            bool transposed) {
    transposed ? pack(j, from, true, -1) : pack(from, j, false, -1);
    addTimes(kernels, x.tile(from), x.rows(), width(from), packed_.data(), width(j), x.tile(j));
}

Outcome Definite::divide(const Kernels& kernels, TiledRows& x, const Control& control) {
    // Solves Y Lᵀ = X, from the first column on.
    for (std::size_t j = 0; j < tiles(); ++j) {
        if (control.cancelled()) return Outcome::Cancelled;
        for (std::size_t k = 0; k < j; ++k) subtractTile(kernels, x, k, j, true);
        divideTile(kernels, x, j, true);
    }
    return Outcome::Done;
}

Outcome Definite::solve(const Kernels& kernels, TiledRows& x, const Control& control) {
    if (const Outcome outcome = divide(kernels, x, control); outcome != Outcome::Done) return outcome;
    // Solves X L = Y, from the last column on.
    for (std::size_t j = tiles(); j-- > 0;) {
        if (control.cancelled()) return Outcome::Cancelled;
        for (std::size_t i = j + 1; i < tiles(); ++i) subtractTile(kernels, x, i, j, false);
        divideTile(kernels, x, j, false);
    }
    return Outcome::Done;
}

}  // namespace layerloom
