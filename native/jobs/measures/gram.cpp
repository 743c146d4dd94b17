#include "accumulator.hpp"

namespace layerloom {
namespace {

class Products : public Accumulator {
  public:
    bool isSettled() const override { return areFinite(out_); }

  protected:
    /// @param isWide computes products in float64
    Products(const std::vector<ValueId>& values, std::span<double> out, bool isWide = false)
        : out_(out),
          values_(values),
          isWide_(isWide),
          x_(values.size()),
          at_(values.size()),
          lanes_(pairsOf(values.size())) {}

    void load(const Tile& tile) {
        for (std::size_t v = 0; v < values_.size(); ++v) x_[v] = tile.floats(values_[v]);
    }

    void sum(const Kernels& kernels, std::size_t at, std::size_t n) {
        for (std::size_t v = 0; v < x_.size(); ++v) at_[v] = x_[v] + at;
        if (!isWide_) return kernels.products(at_.data(), at_.size(), lanesOf(lanes_), n);
        forEachPair(x_.size(), [&](std::size_t p, std::size_t i, std::size_t j) {
            addWide(at_[i], at_[j], lanes_[p], n);
        });
    }

    /// Stores sums, but leaves those that are already finite.
    void store(std::size_t at) {
        for (std::size_t p = 0; p < lanes_.size(); ++p)
            if (!isWide_ || !std::isfinite(out_[at + p])) out_[at + p] = total(lanes_[p]);
    }

    std::span<double> out_;
    const std::vector<ValueId>& values_;
    bool isWide_;
    std::vector<const float*> x_, at_;
    std::vector<Lanes> lanes_;

  private:
    static void addWide(const float* x, const float* y, Lanes& lanes, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i)
            lanes[i % kLanes] += static_cast<double>(x[i]) * static_cast<double>(y[i]);
    }
};

class GramSums : public Products {
  public:
    GramSums(const Gram& gram, std::span<double> out, bool isWide = false)
        : Products(gram.values, out, isWide), gram_(gram) {}

    void add(const Tile& tile) override {
        load(tile);
        sum(tile.kernels, 0, tile.count);
    }

    void finish() override { store(0); }

    std::unique_ptr<Accumulator> again(bool isFinite) override {
        return isFinite ? std::make_unique<GramSums>(gram_, out_, true) : nullptr;
    }

  private:
    const Gram& gram_;
};

class RowGramSums : public Products {
  public:
    RowGramSums(const RowGram& gram, std::span<double> out, bool isWide = false)
        : Products(gram.values, out, isWide), gram_(gram) {}

    void add(const Tile& tile) override {
        load(tile);
        tile.forEachRow([&](std::size_t row, std::size_t column, std::size_t at, std::size_t n) {
            if (column == 0)
                for (Lanes& lanes : lanes_) lanes.fill(0);
            sum(tile.kernels, at, n);
            if (column + n == tile.program.columns) store(row * lanes_.size());
        });
    }

    std::unique_ptr<Accumulator> again(bool isFinite) override {
        return isFinite ? std::make_unique<RowGramSums>(gram_, out_, true) : nullptr;
    }

  private:
    const RowGram& gram_;
};

class ColumnGramSums : public Products {
  public:
    ColumnGramSums(const ColumnGram& gram, std::span<double> out) : Products(gram.values, out) {}

    void add(const Tile& tile) override {
        load(tile);
        tile.forEachRow([&](std::size_t, std::size_t column, std::size_t at, std::size_t n) {
            forEachPair(x_.size(), [&](std::size_t p, std::size_t i, std::size_t j) {
                for (std::size_t c = 0; c < n; ++c)
                    out_[(column + c) * lanes_.size() + p] +=
                        static_cast<double>(x_[i][at + c]) * static_cast<double>(x_[j][at + c]);
            });
        });
    }
};

}  // namespace

std::unique_ptr<Accumulator> accumulatorOf(const Gram& gram, const Program&, std::span<double> out) {
    return std::make_unique<GramSums>(gram, out);
}

std::unique_ptr<Accumulator> accumulatorOf(const RowGram& gram, const Program&, std::span<double> out) {
    return std::make_unique<RowGramSums>(gram, out);
}

std::unique_ptr<Accumulator> accumulatorOf(const ColumnGram& gram, const Program&, std::span<double> out) {
    return std::make_unique<ColumnGramSums>(gram, out);
}

}  // namespace layerloom
