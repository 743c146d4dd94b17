#include "factorise.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "../io/output_file.hpp"
#include "algebra.hpp"
#include "check.hpp"
#include "tiles.hpp"

namespace layerloom {
namespace {

/// Minimum number of random columns beyond the rank. Usually half the rank is more: singular values of
/// fine-tuning fall slowly.
constexpr std::size_t kOversampling = 10;
/// Number of passes of ΔᵀΔ, with which the error is within 1 % of the optimum.
constexpr int kPowerIterations = 3;
// Rows of a tile, and columns summed in float32. Part of the numeric contract.
constexpr std::size_t kTileRows = 64;
constexpr std::size_t kTileElements = 4 * 1024 * 1024;
constexpr std::size_t kBlock = 256;
/// Not a power of two, which would map all rows to a few cache sets.
constexpr std::size_t kBlockStride = kBlock + 16;

/// Rows of a factor that are computed and written together.
constexpr std::size_t kFactorRows = 2048;

/// Limit on the rank, because matrices of this size are decomposed on one thread.
constexpr std::uint64_t kMostRank = 4096;

constexpr std::size_t panelsOf(std::size_t columns) { return (columns + kPanel - 1) / kPanel; }

template <class Number>
using Buffer = std::unique_ptr<Number[]>;

template <class Number>
Buffer<Number> zeros(std::size_t count) {
    return std::make_unique<Number[]>(count);
}

/// Repacks rows into panels. @param rows of a panel
template <class Number>
void toPanels(const double* from, std::size_t count, std::size_t panels, Number* to, std::size_t rows) {
    for (std::size_t p = 0; p < panels; ++p)
        for (std::size_t row = 0; row < count; ++row)
            for (std::size_t j = 0; j < kPanel; ++j)
                to[(p * rows + row) * kPanel + j] =
                    static_cast<Number>(from[(row * panels + p) * kPanel + j]);
}

/// A matrix of many rows, with columns in whole panels.
struct Tall {
    std::size_t rows, panels;
    Buffer<double> numbers;

    Tall(std::size_t rows, std::size_t panels)
        : rows(rows), panels(panels), numbers(zeros<double>(rows * panels * kPanel)) {}
    double* row(std::size_t at) { return numbers.get() + at * panels * kPanel; }
};

/// Adds XᵀX for rows of X.
void addGram(const Kernels& kernels, const double* x, std::size_t rows, std::size_t panels, double* gram) {
    const auto packed = std::make_unique_for_overwrite<double[]>(kBlock * panels * kPanel);
    for (std::size_t at = 0; at < rows; at += kBlock) {
        const std::size_t count = std::min(kBlock, rows - at);
        const double* from = x + at * panels * kPanel;
        toPanels(from, count, panels, packed.get(), count);
        kernels.addWideProduct({from, 1, panels * kPanel, panels * kPanel, count, packed.get(), count * kPanel,
                                panels, gram});
    }
}

Matrix firstOf(const double* square, std::size_t stride, std::size_t size) {
    Matrix matrix(size, size);
    for (std::size_t i = 0; i < size; ++i)
        for (std::size_t j = 0; j < size; ++j) matrix(i, j) = square[i * stride + j];
    return matrix;
}

struct Small {
    std::size_t depth, panels;
    Buffer<double> numbers;

    explicit Small(const Matrix& matrix)
        : depth(matrix.rows),
          panels(panelsOf(matrix.columns)),
          numbers(zeros<double>(depth * panels * kPanel)) {
        for (std::size_t i = 0; i < depth; ++i)
            for (std::size_t j = 0; j < matrix.columns; ++j)
                numbers[(j / kPanel * depth + i) * kPanel + j % kPanel] = matrix(i, j);
    }

    /// sums += x·this. @param stride of the rows of x
    void addTo(const Kernels& kernels, const double* x, std::size_t stride, std::size_t rows,
               double* sums) const {
        kernels.addWideProduct(
            {x, stride, 1, rows, depth, numbers.get(), depth * kPanel, panels, sums});
    }
};

/// ‖Δ‖²_F, and the number of NaN and infinite elements, summed tile by tile.
struct Size {
    double squares = 0, nonFinite = 0;

    double add(const float* tile, std::size_t count) {
        double ofTile = 0;
        for (std::size_t i = 0; i < count; ++i)
            ofTile += static_cast<double>(tile[i]) * static_cast<double>(tile[i]);
        squares += ofTile;
        if (!std::isfinite(ofTile))
            for (std::size_t i = 0; i < count; ++i) nonFinite += std::isfinite(tile[i]) ? 0 : 1;
        return ofTile;
    }
    void write(std::span<double> out) const {
        out[static_cast<std::size_t>(FactorNumber::Squares)] = squares;
        out[static_cast<std::size_t>(FactorNumber::NonFinite)] = nonFinite;
    }
};

class Factoriser {
  public:
    Factoriser(const Kernels& kernels, const Factorisation& what, const Windows& windows, Control control)
        : kernels_(kernels),
          what_(what),
          windows_(windows),
          control_(control),
          columns_(static_cast<std::size_t>(what.program.columns)),
          rows_(static_cast<std::size_t>(what.program.count) / columns_),
          width_(static_cast<std::size_t>(what.rank) +
                 std::max(kOversampling, static_cast<std::size_t>(what.rank) / 2)),
          panels_(panelsOf(std::min({width_, rows_, columns_}))),
          tileRows_(std::clamp(kTileElements / columns_, std::size_t{1}, kTileRows)) {
        // Widens to all columns of the last panel, because they cost nothing.
        width_ = std::min({panels_ * kPanel, rows_, columns_});
    }

    Status run(std::span<double> out);

  private:
    using Tile = const float*;

    /// Visits the matrix tile by tile: work(first row, rows, tile).
    template <class Work>
    Status overTiles(const Work& work);
    Status applyGram(Tall& sums, std::span<double> out);
    Status transpose(Tall& columns, std::span<double> out);
    void makeOrthonormal(Tall& columns);
    Status multiply();
    std::size_t chooseRank(const std::vector<double>& values, double squares) const;
    Status writeRight(Tall& v, const Matrix& by);
    Status writeLeft(const Matrix& by);
    Status write(const Location& at, bool transposed, std::size_t extent, std::size_t first, std::size_t count,
                 const float* numbers);
    Status findError(double& error);
    /// Adds tile·b, in blocks of columns.
    void addTimes(Tile tile, std::size_t rows, const float* b, std::size_t panels, double* sums) const;
    void round(float* numbers, std::size_t count);

    const Kernels& kernels_;
    const Factorisation& what_;
    const Windows& windows_;
    Control control_;
    std::size_t columns_, rows_, width_, panels_, tileRows_;
    std::size_t rank_ = 0;
    Buffer<float> basis_;           ///< V, in panels
    Buffer<float> product_;         ///< ΔV: [row][16 · panels]
    Buffer<double> gram_;           ///< (ΔV)ᵀΔV
    Buffer<float> left_, right_;    ///< rounded factors: [row][rank], and in panels of columns
    Buffer<std::byte> rounded_;
};

template <class Work>
Status Factoriser::overTiles(const Work& work) {
    Evaluator evaluator(kernels_, what_.program, windows_);
    return layerloom::overTiles(
        evaluator, what_.program, windows_, control_, tileRows_,
        [&](std::size_t row, std::size_t count) { work(row, count, evaluator.floats(what_.value)); });
}

void Factoriser::addTimes(Tile tile, std::size_t rows, const float* b, std::size_t panels, double* sums) const {
    for (std::size_t at = 0; at < columns_; at += kBlock) {
        const std::size_t depth = std::min(kBlock, columns_ - at);
        kernels_.addProduct({tile + at, columns_, 1, rows, depth, b + at * kPanel, columns_ * kPanel, panels, sums});
    }
}

/// sums = ΔᵀΔV. Computes ΔV tile by tile.
Status Factoriser::applyGram(Tall& sums, std::span<double> out) {
    const std::size_t stride = panels_ * kPanel;
    const auto product = zeros<double>(tileRows_ * stride);
    const auto packed = zeros<float>(tileRows_ * stride);
    const auto block = zeros<float>(tileRows_ * kBlockStride);
    std::fill_n(sums.numbers.get(), columns_ * stride, 0.0);
    Size size;
    const Status status = overTiles([&](std::size_t, std::size_t rows, Tile tile) {
        const double ofTile = size.add(tile, rows * columns_);
        if (size.nonFinite > 0 || ofTile == 0) return;
        std::fill_n(product.get(), rows * stride, 0.0);
        addTimes(tile, rows, basis_.get(), panels_, product.get());
        toPanels(product.get(), rows, panels_, packed.get(), rows);
        for (std::size_t at = 0; at < columns_; at += kBlock) {
            const std::size_t count = std::min(kBlock, columns_ - at);
            for (std::size_t row = 0; row < rows; ++row)
                std::copy_n(tile + row * columns_ + at, count, block.get() + row * kBlockStride);
            kernels_.addProduct({block.get(), 1, kBlockStride, count, rows, packed.get(), rows * kPanel, panels_,
                                 sums.row(at)});
        }
    });
    size.write(out);
    return status;
}

/// Sets `columns` to Δᵀ. The rows of a wide matrix span it exactly; ΔᵀΔ would square the condition and lose
/// small singular values.
Status Factoriser::transpose(Tall& columns, std::span<double> out) {
    Size size;
    const Status status = overTiles([&](std::size_t first, std::size_t rows, Tile tile) {
        size.add(tile, rows * columns_);
        if (size.nonFinite > 0) return;
        for (std::size_t row = 0; row < rows; ++row)
            for (std::size_t column = 0; column < columns_; ++column)
                columns.row(column)[first + row] = static_cast<double>(tile[row * columns_ + column]);
    });
    size.write(out);
    return status;
}

/// Makes columns orthonormal, without dependent ones. `basis_` gets a float32 copy.
void Factoriser::makeOrthonormal(Tall& columns) {
    // Two passes are enough: the second starts with nearly orthonormal columns.
    for (int time = 0; time < 2; ++time) {
        const std::size_t stride = columns.panels * kPanel;
        const auto gram = zeros<double>(stride * stride);
        addGram(kernels_, columns.numbers.get(), columns_, columns.panels, gram.get());
        const Matrix by = orthonormaliser(firstOf(gram.get(), stride, width_));
        const Small small(by);
        Tall next(columns_, small.panels);
        small.addTo(kernels_, columns.numbers.get(), stride, columns_, next.numbers.get());
        columns = std::move(next);
        width_ = by.columns;
        panels_ = small.panels;
    }
    toPanels(columns.numbers.get(), columns_, panels_, basis_.get(), columns_);
}

Status Factoriser::multiply() {
    const std::size_t stride = panels_ * kPanel;
    const auto product = zeros<double>(tileRows_ * stride);
    product_ = std::make_unique_for_overwrite<float[]>(rows_ * stride);
    gram_ = zeros<double>(stride * stride);
    return overTiles([&](std::size_t first, std::size_t rows, Tile tile) {
        std::fill_n(product.get(), rows * stride, 0.0);
        addTimes(tile, rows, basis_.get(), panels_, product.get());
        // Rounds as in the file, so that the error includes rounding.
        float* to = product_.get() + first * stride;
        for (std::size_t i = 0; i < rows * stride; ++i) product[i] = to[i] = static_cast<float>(product[i]);
        addGram(kernels_, product.get(), rows, panels_, gram_.get());
    });
}

std::size_t Factoriser::chooseRank(const std::vector<double>& values, double squares) const {
    const auto most = static_cast<std::size_t>(what_.rank);
    if (what_.share >= 1) return most;
    double kept = 0;
    for (std::size_t rank = 0; rank < std::min(most, values.size()); ++rank) {
        kept += values[rank];
        if (kept >= what_.share * squares) return rank + 1;
    }
    return std::min(most, values.size());
}

void Factoriser::round(float* numbers, std::size_t count) {
    if (what_.dtype == DType::F32) return;
    auto* bytes = reinterpret_cast<std::byte*>(numbers);
    const Source exact{bytes, DType::F32};
    linear(kernels_, {&exact, 1}, kOne, {rounded_.get(), what_.dtype}, count);
    const Source rounded{rounded_.get(), what_.dtype};
    linear(kernels_, {&rounded, 1}, kOne, {bytes, DType::F32}, count);
}

/// Writes rows [first, first + count) of a factor, whose `numbers` are already rounded. @param transposed
/// stores the factor as [rank, extent]
Status Factoriser::write(const Location& at, bool transposed, std::size_t extent, std::size_t first,
                         std::size_t count, const float* numbers) {
    const std::size_t size = sizeOf(what_.dtype);
    const auto put = [&](const float* from, std::size_t element, std::size_t length) {
        const Source exact{reinterpret_cast<const std::byte*>(from), DType::F32};
        linear(kernels_, {&exact, 1}, kOne, {rounded_.get(), what_.dtype}, length);
        control_.count(0, length * size);
        return writeAt(at.fd, at.begin + element * size, {rounded_.get(), length * size});
    };
    int error = 0;
    if (transposed) {
        const auto column = std::make_unique_for_overwrite<float[]>(count);
        for (std::size_t k = 0; k < rank_ && error == 0; ++k) {
            for (std::size_t row = 0; row < count; ++row) column[row] = numbers[row * rank_ + k];
            error = put(column.get(), k * extent + first, count);
        }
    } else {
        error = put(numbers, first * rank_, count * rank_);
    }
    return error == 0 ? Status{} : Status{Outcome::WriteFailed, error};
}

/// right = (V·by)ᵀ: [rank, columns].
Status Factoriser::writeRight(Tall& v, const Matrix& by) {
    const Small small(by);
    const std::size_t stride = small.panels * kPanel;
    right_ = zeros<float>(panelsOf(columns_) * rank_ * kPanel);
    const auto sums = zeros<double>(kFactorRows * stride);
    const auto numbers = zeros<float>(kFactorRows * rank_);
    for (std::size_t at = 0; at < columns_; at += kFactorRows) {
        const std::size_t count = std::min(kFactorRows, columns_ - at);
        std::fill_n(sums.get(), count * stride, 0.0);
        small.addTo(kernels_, v.row(at), v.panels * kPanel, count, sums.get());
        for (std::size_t row = 0; row < count; ++row)
            for (std::size_t k = 0; k < rank_; ++k)
                numbers[row * rank_ + k] = static_cast<float>(sums[row * stride + k]);
        round(numbers.get(), count * rank_);
        for (std::size_t row = 0; row < count; ++row)
            for (std::size_t k = 0; k < rank_; ++k)
                right_[((at + row) / kPanel * rank_ + k) * kPanel + (at + row) % kPanel] = numbers[row * rank_ + k];
        const Status status = write(what_.right, !what_.transposed, columns_, at, count, numbers.get());
        if (status.outcome != Outcome::Done) return status;
    }
    return {};
}

/// left = ΔV·by: [rows, rank].
Status Factoriser::writeLeft(const Matrix& by) {
    const Small small(by);
    const std::size_t stride = small.panels * kPanel, from = panels_ * kPanel;
    left_ = std::make_unique_for_overwrite<float[]>(rows_ * rank_);
    const auto sums = zeros<double>(kFactorRows * stride);
    const auto wide = zeros<double>(kFactorRows * from);
    for (std::size_t at = 0; at < rows_; at += kFactorRows) {
        const std::size_t count = std::min(kFactorRows, rows_ - at);
        std::copy_n(product_.get() + at * from, count * from, wide.get());
        std::fill_n(sums.get(), count * stride, 0.0);
        small.addTo(kernels_, wide.get(), from, count, sums.get());
        float* const numbers = left_.get() + at * rank_;
        for (std::size_t row = 0; row < count; ++row)
            for (std::size_t k = 0; k < rank_; ++k)
                numbers[row * rank_ + k] = static_cast<float>(sums[row * stride + k]);
        round(numbers, count * rank_);
        const Status status = write(what_.left, what_.transposed, rows_, at, count, numbers);
        if (status.outcome != Outcome::Done) return status;
    }
    return {};
}

/// Computes ‖Δ − left·right‖² in another pass: a difference of sums would lose a small error.
Status Factoriser::findError(double& error) {
    constexpr std::size_t blockPanels = kBlock / kPanel;
    const auto sums = zeros<double>(tileRows_ * kBlock);
    return overTiles([&](std::size_t first, std::size_t rows, Tile tile) {
        for (std::size_t at = 0; at < columns_; at += kBlock) {
            const std::size_t count = std::min(kBlock, columns_ - at);
            const std::size_t panels = std::min(blockPanels, panelsOf(count)), stride = panels * kPanel;
            std::fill_n(sums.get(), rows * stride, 0.0);
            kernels_.addProduct({left_.get() + first * rank_, rank_, 1, rows, rank_,
                                 right_.get() + at * rank_, rank_ * kPanel, panels, sums.get()});
            for (std::size_t row = 0; row < rows; ++row) {
                double ofRow = 0;
                for (std::size_t column = 0; column < count; ++column) {
                    const double left = static_cast<double>(tile[row * columns_ + at + column]) -
                                        sums[row * stride + column];
                    ofRow += left * left;
                }
                error += ofRow;
            }
        }
    });
}

Status Factoriser::run(std::span<double> out) {
    basis_ = zeros<float>(columns_ * panels_ * kPanel);
    Tall v(columns_, panels_);
    // With this many columns, the basis spans the whole matrix, without a search.
    const bool isWhole = width_ == std::min(rows_, columns_), isWide = isWhole && rows_ < columns_;
    if (!isWide) {
        // Uniform numbers work as well as normal ones, and need no logarithm.
        std::vector<std::uint32_t> words(width_);
        for (std::size_t row = 0; row < columns_; ++row) {
            kernels_.randoms(what_.key, row * width_, words.data(), width_);
            for (std::size_t k = 0; k < width_; ++k)
                v.row(row)[k] = static_cast<double>(words[k] >> 8) / (1 << 23) - 1;
        }
        toPanels(v.numbers.get(), columns_, panels_, basis_.get(), columns_);
    }
    const int iterations = isWhole ? 1 : kPowerIterations;
    for (int iteration = 0; iteration < iterations; ++iteration) {
        const Status status = isWide ? transpose(v, out) : applyGram(v, out);
        const bool isFinite = out[static_cast<std::size_t>(FactorNumber::NonFinite)] == 0;
        if (status.outcome != Outcome::Done || !isFinite ||
            out[static_cast<std::size_t>(FactorNumber::Squares)] == 0)
            return status;
        makeOrthonormal(v);
    }
    Status status = multiply();
    if (status.outcome != Outcome::Done) return status;

    const Eigen eigen = eigenOf(firstOf(gram_.get(), panels_ * kPanel, width_));
    gram_.reset();
    rank_ = chooseRank(eigen.values, out[static_cast<std::size_t>(FactorNumber::Squares)]);
    Matrix ofRight(width_, rank_), ofLeft(width_, rank_);
    for (std::size_t k = 0; k < std::min(rank_, width_); ++k) {
        const double sigma = std::sqrt(eigen.values[k]), root = std::sqrt(sigma);
        out[kFactorNumbers + k] = sigma;
        if (root == 0) continue;
        for (std::size_t i = 0; i < width_; ++i) {
            ofRight(i, k) = eigen.vectors(i, k) * root;
            ofLeft(i, k) = eigen.vectors(i, k) / root;
        }
    }
    out[static_cast<std::size_t>(FactorNumber::Rank)] = static_cast<double>(rank_);
    rounded_ = std::make_unique_for_overwrite<std::byte[]>(kFactorRows * rank_ * sizeof(float));
    status = writeRight(v, ofRight);
    if (status.outcome == Outcome::Done) status = writeLeft(ofLeft);
    product_.reset();
    if (status.outcome != Outcome::Done) return status;
    return findError(out[static_cast<std::size_t>(FactorNumber::Error)]);
}

}  // namespace

void Factorisation::check() const {
    checkMatrices(program, {value}, "program");
    const std::uint64_t rows = program.count / program.columns;
    require(rank >= 1 && rank <= std::min({rows, program.columns, kMostRank}), "rank");
    require(share > 0 && share <= 1, "share");
    require(dtype == DType::BF16 || dtype == DType::F16 || dtype == DType::F32, "dtype");
    checkElements(left, sizeOf(dtype), 0, checkedLength(rows, rank, "left"), "left");
    checkElements(right, sizeOf(dtype), 0, checkedLength(program.columns, rank, "right"), "right");
}

std::size_t Factorisation::size() const { return kFactorNumbers + rank; }

Status Factorisation::solve(const Kernels& kernels, std::span<double> out, Control control) const {
    const Windows windows(program.windows());
    if (windows.status.outcome != Outcome::Done) return windows.status;
    return Factoriser(kernels, *this, windows, control).run(out);
}

}  // namespace layerloom
