#include "accumulator.hpp"

namespace layerloom {
namespace {

/// Values of a tile, and sums of the products of their pairs.
class Products : public Accumulator {
  protected:
    Products(const std::vector<ValueId>& values, std::span<double> out)
        : out_(out), values_(values), x_(values.size()), lanes_(pairsOf(values.size())) {}

    void load(const Tile& tile) {
        for (std::size_t v = 0; v < values_.size(); ++v) x_[v] = tile.floats(values_[v]);
    }

    void sum(const Kernels& kernels, std::size_t at, std::size_t n) {
        forEachPair(x_.size(), [&](std::size_t p, std::size_t i, std::size_t j) {
            kernels.dot(x_[i] + at, x_[j] + at, lanes_[p].data(), n);
        });
    }

    void store(std::size_t at) {
        for (std::size_t p = 0; p < lanes_.size(); ++p) out_[at + p] = total(lanes_[p]);
    }

    std::span<double> out_;
    const std::vector<ValueId>& values_;
    std::vector<const float*> x_;
    std::vector<Lanes> lanes_;
};

class GramSums : public Products {
  public:
    GramSums(const Gram& gram, std::span<double> out) : Products(gram.values, out) {}

    void add(const Tile& tile) override {
        load(tile);
        sum(tile.kernels, 0, tile.count);
    }

    void finish() override { store(0); }
};

class RowGramSums : public Products {
  public:
    RowGramSums(const RowGram& gram, std::span<double> out) : Products(gram.values, out) {}

    void add(const Tile& tile) override {
        load(tile);
        tile.forEachRow([&](std::size_t row, std::size_t column, std::size_t at, std::size_t n) {
            if (column == 0)
                for (Lanes& lanes : lanes_) lanes.fill(0);
            sum(tile.kernels, at, n);
            if (column + n == tile.program.columns) store(row * lanes_.size());
        });
    }
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
