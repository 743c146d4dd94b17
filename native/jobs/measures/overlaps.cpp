#include <cmath>

#include "accumulator.hpp"

namespace layerloom {
namespace {

class OverlapSums : public Accumulator {
  public:
    /// @param cleans true if values that are not finite count as 0
    OverlapSums(const Overlaps& overlaps, std::span<double> out, bool cleans = false)
        : overlaps_(overlaps),
          out_(out),
          cleans_(cleans),
          x_(overlaps.values.size()),
          clean_(cleans ? x_.size() : 0),
          pairs_(pairsOf(x_.size())) {}

    void add(const Tile& tile) override {
        for (std::size_t v = 0; v < x_.size(); ++v) {
            x_[v] = tile.floats(overlaps_.values[v]);
            if (cleans_) x_[v] = clean(x_[v], tile.count, clean_[v]);
        }
        forEachPair(x_.size(), [&](std::size_t p, std::size_t i, std::size_t j) {
            auto& [dot, counts] = pairs_[p];
            if (i == j)
                tile.kernels.dot(x_[i], x_[j], dot.data(), tile.count);
            else
                tile.kernels.overlap(x_[i], x_[j], dot.data(), counts.data(), tile.count);
        });
    }

    void finish() override {
        for (std::size_t p = 0; p < pairs_.size(); ++p) {
            out_[3 * p] = total(pairs_[p].dot);
            for (std::size_t c = 0; c < 2; ++c)
                out_[3 * p + 1 + c] = static_cast<double>(pairs_[p].counts[c]);
        }
    }

    /// Compares directions once more, without values that are not finite: these have none.
    std::unique_ptr<Accumulator> again(bool) override {
        return std::make_unique<OverlapSums>(overlaps_, out_, true);
    }

  private:
    struct Pair {
        Lanes dot{};
        std::array<std::uint64_t, 2> counts{};
    };

    static const float* clean(const float* x, std::size_t count, std::vector<float>& to) {
        to.assign(x, x + count);
        for (float& element : to)
            if (!std::isfinite(element)) element = 0;
        return to.data();
    }

    const Overlaps& overlaps_;
    std::span<double> out_;
    bool cleans_;
    std::vector<const float*> x_;
    std::vector<std::vector<float>> clean_;
    std::vector<Pair> pairs_;
};

class NonFiniteCounts : public Accumulator {
  public:
    NonFiniteCounts(const NonFinite& what, std::span<double> out) : what_(what), out_(out) {}

    void add(const Tile& tile) override {
        const float* base = tile.floats(what_.base);
        for (std::size_t i = 0; i < tile.count; ++i) out_[0] += std::isfinite(base[i]) ? 0 : 1;
        for (std::size_t e = 0; e < what_.experts.size(); ++e) {
            const float* expert = tile.floats(what_.experts[e]);
            const float* x = tile.floats(what_.differences[e]);
            for (std::size_t i = 0; i < tile.count; ++i)
                out_[1 + e] +=
                    !std::isfinite(expert[i]) || (std::isfinite(base[i]) && !std::isfinite(x[i])) ? 1 : 0;
        }
    }

  private:
    const NonFinite& what_;
    std::span<double> out_;
};

/// Counts in a second look alone: sums of magnitudes say for nothing whether there is anything to count.
class NonFiniteLater : public Accumulator {
  public:
    NonFiniteLater(const NonFinite& what, std::span<double> out) : what_(what), out_(out) {}

    void add(const Tile&) override {}

    std::unique_ptr<Accumulator> again(bool) override {
        return std::make_unique<NonFiniteCounts>(what_, out_);
    }

  private:
    const NonFinite& what_;
    std::span<double> out_;
};

}  // namespace

std::unique_ptr<Accumulator> accumulatorOf(const Overlaps& overlaps, const Program&, std::span<double> out) {
    return std::make_unique<OverlapSums>(overlaps, out);
}

std::unique_ptr<Accumulator> accumulatorOf(const NonFinite& what, const Program&, std::span<double> out) {
    return std::make_unique<NonFiniteLater>(what, out);
}

}  // namespace layerloom
