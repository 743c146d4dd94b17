#include <algorithm>
#include <cmath>
#include <limits>

#include "accumulator.hpp"

namespace layerloom {
namespace {

/// Adds magnitudes of elements [at, at + count), starting at lane 0.
void addTo(Lanes& lanes, const Tile& tile, ValueId value, std::size_t at, std::size_t count) {
    const auto [sum, draw, scale] = tile.evaluator.drawnSum(value, at);
    tile.kernels.laneMagnitudes[static_cast<std::size_t>(sum.dtype)](
        sum.terms, draw ? &*draw : nullptr, scale, tile.evaluator.firstElement() + at, lanes.data(), count);
}

/// Makes NaN canonical, so that its bits do not depend on which element was first.
double canonical(double sum) { return std::isnan(sum) ? std::numeric_limits<double>::quiet_NaN() : sum; }

double totalOf(const Lanes& lanes) { return canonical(total(lanes)); }

class MagnitudeSum : public Accumulator {
  public:
    MagnitudeSum(const Magnitudes& magnitudes, std::span<double> out) : value_(magnitudes.value), out_(out) {}

    void add(const Tile& tile) override {
        addTo(lanes_, tile, value_, 0, tile.count);
    }

    void finish() override { out_[0] = totalOf(lanes_); }
    bool isSettled() const override { return areFinite(out_); }

  private:
    ValueId value_;
    std::span<double> out_;
    Lanes lanes_{};
};

/// Sums magnitudes; every NaN and infinity shows in the sums.
class Sums : public Accumulator {
  public:
    bool isSettled() const override { return areFinite(out_); }

  protected:
    Sums(ValueId value, std::span<double> out) : value_(value), out_(out) {}

    ValueId value_;
    std::span<double> out_;
};

class RowMagnitudeSums : public Sums {
  public:
    RowMagnitudeSums(const RowMagnitudes& magnitudes, std::span<double> out) : Sums(magnitudes.value, out) {}

    void add(const Tile& tile) override {
        tile.forEachRow([&](std::size_t row, std::size_t column, std::size_t at, std::size_t n) {
            if (column == 0) lanes_.fill(0);
            addTo(lanes_, tile, value_, at, n);
            if (column + n == tile.program.columns) out_[row] = totalOf(lanes_);
        });
    }

  private:
    Lanes lanes_{};
};

class ColumnMagnitudeSums : public Sums {
  public:
    ColumnMagnitudeSums(const ColumnMagnitudes& magnitudes, std::span<double> out)
        : Sums(magnitudes.value, out) {}

    /// Adds a tile, which is whole rows or a piece of a row.
    void add(const Tile& tile) override {
        const auto columns = static_cast<std::size_t>(tile.program.columns);
        const auto [terms, dtype] = tile.evaluator.sum(value_, 0);
        tile.kernels.columnMagnitudes[static_cast<std::size_t>(dtype)](
            terms, std::max<std::size_t>(1, tile.count / columns), columns,
            out_.data() + tile.begin % columns, std::min(tile.count, columns));
    }

    void finish() override {
        for (double& sum : out_) sum = canonical(sum);
    }
};

class ColumnValueSums : public Accumulator {
  public:
    ColumnValueSums(const ColumnSums& sums, std::span<double> out) : value_(sums.value), out_(out) {}

    void add(const Tile& tile) override {
        const float* x = tile.floats(value_);
        tile.forEachRow([&](std::size_t, std::size_t column, std::size_t at, std::size_t n) {
            for (std::size_t i = 0; i < n; ++i) out_[column + i] += static_cast<double>(x[at + i]);
        });
    }

    bool isSettled() const override { return areFinite(out_); }

  private:
    ValueId value_;
    std::span<double> out_;
};

}  // namespace

std::unique_ptr<Accumulator> accumulatorOf(const Magnitudes& magnitudes, const Program&,
                                           std::span<double> out) {
    return std::make_unique<MagnitudeSum>(magnitudes, out);
}

std::unique_ptr<Accumulator> accumulatorOf(const RowMagnitudes& magnitudes, const Program&,
                                           std::span<double> out) {
    return std::make_unique<RowMagnitudeSums>(magnitudes, out);
}

std::unique_ptr<Accumulator> accumulatorOf(const ColumnMagnitudes& magnitudes, const Program&,
                                           std::span<double> out) {
    return std::make_unique<ColumnMagnitudeSums>(magnitudes, out);
}

std::unique_ptr<Accumulator> accumulatorOf(const ColumnSums& sums, const Program&, std::span<double> out) {
    return std::make_unique<ColumnValueSums>(sums, out);
}

}  // namespace layerloom
