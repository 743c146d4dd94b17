#include <algorithm>

#include "accumulator.hpp"

namespace layerloom {
namespace {

/// Rows whose sums run side by side, because each addition waits for the one before.
constexpr std::size_t kRows = 4;

using RowSums = std::array<double, kRows>;

/// Returns the sum of each row in order. @param rows at most kRows rows of `columns`
RowSums sumsOf(const std::vector<double>& x, std::size_t rows, std::size_t columns) {
    const double* at[kRows];
    for (std::size_t r = 0; r < kRows; ++r) at[r] = x.data() + (r < rows ? r : 0) * columns;
    RowSums sums{};
    for (std::size_t i = 0; i < columns; ++i)
        for (std::size_t r = 0; r < kRows; ++r) sums[r] += at[r][i];
    return sums;
}

class Divergences : public Accumulator {
  public:
    Divergences(const Divergence& divergence, std::span<double> out)
        : ids_{divergence.value, divergence.base}, out_(out) {}

    void add(const Tile& tile) override {
        kernels_ = &tile.kernels;
        columns_ = static_cast<std::size_t>(tile.program.columns);
        const float* x[] = {tile.floats(ids_[0]), tile.floats(ids_[1])};
        tile.forEachRow([&](std::size_t, std::size_t, std::size_t at, std::size_t n) {
            for (std::size_t v = 0; v < 2; ++v) rows_[v].insert(rows_[v].end(), x[v] + at, x[v] + at + n);
            if (rows_[0].size() == kRows * columns_) measure();
        });
    }

    void finish() override {
        if (!rows_[0].empty()) measure();
    }

    bool isSettled() const override { return areFinite(out_); }

  private:
    /// Computed in float64, because in float32 the sums would be mostly rounding.
    void measure() {
        const std::size_t rows = rows_[0].size() / columns_;
        RowSums sums[2];
        for (std::size_t v = 0; v < 2; ++v) {
            exponentials_[v].resize(rows * columns_);
            for (std::size_t begin = 0; begin < rows * columns_; begin += columns_) {
                const float* x = rows_[v].data() + begin;
                kernels_->exponentials(x, *std::max_element(x, x + columns_), exponentials_[v].data() + begin,
                                       columns_);
            }
            sums[v] = sumsOf(exponentials_[v], rows, columns_);
            rows_[v].clear();
        }
        for (std::size_t r = 0; r < rows; ++r) {
            double *a = exponentials_[0].data() + r * columns_, *b = exponentials_[1].data() + r * columns_;
            kernels_->divergences(a, sums[0][r], b, sums[1][r], a, columns_);
        }
        const RowSums found = sumsOf(exponentials_[0], rows, columns_);
        std::copy_n(found.begin(), rows, out_.begin() + static_cast<std::ptrdiff_t>(row_));
        row_ += rows;
    }

    std::array<ValueId, 2> ids_;
    std::span<double> out_;
    const Kernels* kernels_ = nullptr;
    std::size_t columns_ = 0, row_ = 0;
    std::array<std::vector<float>, 2> rows_;
    std::array<std::vector<double>, 2> exponentials_;
};

}  // namespace

std::unique_ptr<Accumulator> accumulatorOf(const Divergence& divergence, const Program&,
                                           std::span<double> out) {
    return std::make_unique<Divergences>(divergence, out);
}

}  // namespace layerloom
