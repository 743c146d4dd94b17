#include <cmath>

#include "accumulator.hpp"

namespace layerloom {
namespace {

/// Signs and float32 values of a piece, which stay in the L1 cache.
class SignedTiles {
  public:
    /// A multiple of the runs that kernels sum.
    static constexpr std::size_t kPiece = 1024;

    explicit SignedTiles(std::size_t values)
        : floats_(values * kPiece), words_(2 * values * kWords), tiles_(values), x_(values) {
        for (std::size_t v = 0; v < values; ++v) {
            std::uint64_t* const words = words_.data() + 2 * v * kWords;
            x_[v] = floats_.data() + v * kPiece;
            tiles_[v] = {floats_.data() + v * kPiece, words, words + kWords, false};
        }
    }

    SignedTile& operator[](std::size_t value) { return tiles_[value]; }
    const SignedTile* tiles() const { return tiles_.data(); }
    const float* const* floats() const { return x_.data(); }

  private:
    static constexpr std::size_t kWords = kPiece / kInWord;

    std::vector<float> floats_;
    std::vector<std::uint64_t> words_;
    std::vector<SignedTile> tiles_;
    std::vector<const float*> x_;
};

class OverlapSums : public Accumulator {
  public:
    /// @param cleans true if NaN and infinity count as 0
    OverlapSums(const Overlaps& overlaps, std::span<double> out, bool cleans = false)
        : overlaps_(overlaps),
          out_(out),
          cleans_(cleans),
          sums_(overlaps.values.size()),
          tiles_(sums_.size()),
          lanes_(pairsOf(sums_.size())),
          counts_(std::make_unique<std::uint64_t[][2]>(lanes_.size())) {}

    void add(const Tile& tile) override {
        for (std::size_t v = 0; v < sums_.size(); ++v) sums_[v].take(tile.evaluator.sum(overlaps_.values[v], 0));
        for (std::size_t at = 0; at < tile.count; at += SignedTiles::kPiece)
            addPiece(tile.kernels, at, std::min(SignedTiles::kPiece, tile.count - at));
    }

    void finish() override {
        for (std::size_t p = 0; p < lanes_.size(); ++p) {
            out_[3 * p] = total(lanes_[p]);
            for (std::size_t c = 0; c < 2; ++c) out_[3 * p + 1 + c] = static_cast<double>(counts_[p][c]);
        }
    }

    /// Repeats the measure without NaN and infinity, which have no direction.
    std::unique_ptr<Accumulator> again(bool) override {
        return std::make_unique<OverlapSums>(overlaps_, out_, true);
    }

  private:
    struct TakenSum {
        std::vector<const std::byte*> sources, moved;
        std::vector<float> weights;
        DType dtype;

        /// Copies a sum, which itself is valid only until the next call.
        void take(const Evaluator::Sum& sum) {
            sources.assign(sum.terms.sources, sum.terms.sources + sum.terms.count);
            weights.assign(sum.terms.weights, sum.terms.weights + sum.terms.count);
            dtype = sum.dtype;
        }

        /// Returns the terms of the sum, starting at an element of the tile.
        Terms from(std::size_t element) {
            moved = sources;
            for (const std::byte*& source : moved) source += element * sizeOf(dtype);
            return {moved.data(), weights.data(), moved.size()};
        }
    };

    void addPiece(const Kernels& kernels, std::size_t at, std::size_t count) {
        for (std::size_t v = 0; v < sums_.size(); ++v) {
            const auto dtype = static_cast<std::size_t>(sums_[v].dtype);
            kernels.signedTile[dtype](sums_[v].from(at), tiles_[v], count);
            if (cleans_) clean(kernels, tiles_[v], count);
        }
        kernels.products(tiles_.floats(), sums_.size(), lanesOf(lanes_), count);
        kernels.agreements(tiles_.tiles(), sums_.size(), counts_.get(), count);
    }

    static void clean(const Kernels& kernels, SignedTile& tile, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i)
            if (!std::isfinite(tile.x[i])) tile.x[i] = 0;
        const float one = 1;
        const auto* const source = reinterpret_cast<const std::byte*>(tile.x);
        kernels.signedTile[static_cast<std::size_t>(DType::F32)]({&source, &one, 1}, tile, count);
    }

    const Overlaps& overlaps_;
    std::span<double> out_;
    bool cleans_;
    std::vector<TakenSum> sums_;
    SignedTiles tiles_;
    std::vector<Lanes> lanes_;
    std::unique_ptr<std::uint64_t[][2]> counts_;
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

/// Counts only in a second pass: sums of magnitudes show whether there is anything to count.
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
