#include "reduction.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "../io/guard.hpp"
#include "../kernels/linear.hpp"
#include "sources.hpp"

namespace layerloom {
namespace {

/// Elements of a tile: the differences of a few experts stay in the L1 and L2 caches between the kernels.
constexpr std::size_t kTile = 4096;
static_assert(kTile % kLanes == 0);

/// Tiles between two looks at the cancel flag and two counts of bytes.
constexpr std::size_t kTilesTogether = 32;

/// One order of additions, whatever summed the lanes.
double total(std::array<double, kLanes> lanes) {
    for (std::size_t half = kLanes / 2; half > 0; half /= 2)
        for (std::size_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
    return lanes[0];
}

/// Float32 tiles: the difference of each expert from the base, for the elements from `begin` on.
class Differences {
  public:
    explicit Differences(std::size_t experts) : tiles_(experts * kTile) {}

    void compute(const Kernels& kernels, const Reduction& reduction, const Windows& windows,
                 std::size_t begin, std::size_t count) {
        constexpr double weights[] = {1, -1};
        const auto sourceOf = [&](std::size_t s) {
            const DType dtype = reduction.sources[s].dtype;
            return Source{windows.bytes[s].data() + begin * sizeOf(dtype), dtype};
        };
        for (std::size_t s = 1; s < reduction.sources.size(); ++s) {
            const Source pair[] = {sourceOf(s), sourceOf(0)};
            auto* out = reinterpret_cast<std::byte*>(tiles_.data() + (s - 1) * kTile);
            linear(kernels, pair, weights, {out, DType::F32}, count);
        }
    }

    const float* of(std::size_t expert) const { return tiles_.data() + expert * kTile; }

    /// Takes differences that are not finite as none.
    void clean(std::size_t experts, std::size_t count) {
        for (std::size_t expert = 0; expert < experts; ++expert)
            for (std::size_t i = 0; i < count; ++i) {
                float& x = tiles_[expert * kTile + i];
                if (!std::isfinite(x)) x = 0;
            }
    }

  private:
    std::vector<float> tiles_;
};

/// Whole rows where they fit a tile, else a piece of one, so that a row's pieces begin at a multiple of
/// kLanes.
std::size_t tileAt(const Reduction& reduction, std::size_t begin) {
    const std::size_t columns = reduction.columns, left = reduction.rows * columns - begin;
    if (columns <= kTile) return std::min(left, kTile / columns * columns);
    return std::min(kTile, columns - begin % columns);
}

/// Adds a tile to the sums of its rows or columns.
class Magnitudes {
  public:
    Magnitudes(const Kernels& kernels, const Reduction& reduction, std::span<double> sums)
        : kernels_(kernels), reduction_(reduction), sums_(sums), lanes_(reduction.sources.size() - 1) {}

    void add(const Differences& differences, std::size_t begin, std::size_t count) {
        const std::size_t columns = reduction_.columns;
        for (std::size_t expert = 0; expert < lanes_.size(); ++expert)
            for (std::size_t at = 0; at < count;) {
                const std::size_t row = (begin + at) / columns, column = (begin + at) % columns;
                const std::size_t length = std::min(count - at, columns - column);
                addPiece(expert, row, column, differences.of(expert) + at, length);
                at += length;
            }
    }

  private:
    void addPiece(std::size_t expert, std::size_t row, std::size_t column, const float* x,
                  std::size_t length) {
        if (reduction_.sense == RowSense::Input)
            return kernels_.addMagnitudes(x, sums_.data() + expert * reduction_.columns + column, length);
        auto& lanes = lanes_[expert];
        if (column == 0) lanes.fill(0);
        kernels_.sumMagnitudes(x, lanes.data(), length);
        if (column + length == reduction_.columns) sums_[expert * reduction_.rows + row] = total(lanes);
    }

    const Kernels& kernels_;
    const Reduction& reduction_;
    std::span<double> sums_;
    /// Of the row that each expert is in.
    std::vector<std::array<double, kLanes>> lanes_;
};

/// How the changes of experts lie to each other, pair by pair.
class Pairs {
  public:
    explicit Pairs(std::size_t experts) : experts_(experts), pairs_(experts * (experts + 1) / 2) {}

    void add(const Kernels& kernels, const Differences& differences, std::size_t count) {
        for (std::size_t p = 0, i = 0; i < experts_; ++i)
            for (std::size_t j = i; j < experts_; ++j, ++p) {
                kernels.dot(differences.of(i), differences.of(j), pairs_[p].dot.data(), count);
                if (i != j)
                    kernels.compareSigns(differences.of(i), differences.of(j), pairs_[p].counts.data(),
                                         count);
            }
    }

    void store(std::span<double> out) const {
        for (std::size_t p = 0; p < pairs_.size(); ++p) {
            out[3 * p] = total(pairs_[p].dot);
            for (std::size_t c = 0; c < 2; ++c) out[3 * p + 1 + c] = static_cast<double>(pairs_[p].counts[c]);
        }
    }

  private:
    struct Pair {
        std::array<double, kLanes> dot{};
        std::array<std::uint64_t, 2> counts{};
    };
    std::size_t experts_;
    std::vector<Pair> pairs_;
};

/// Counts what is not finite, tile by tile. A block is counted only where its sums say that there is
/// something.
void countNonFinite(const Kernels& kernels, const Reduction& reduction, const Windows& windows,
                    Differences& differences, std::size_t begin, std::size_t count,
                    std::span<double> counts) {
    constexpr double one[] = {1};
    std::array<float, kTile> base, expert;
    const auto load = [&](std::size_t s, std::array<float, kTile>& tile) {
        const DType dtype = reduction.sources[s].dtype;
        const Source source[] = {{windows.bytes[s].data() + begin * sizeOf(dtype), dtype}};
        linear(kernels, source, one, {reinterpret_cast<std::byte*>(tile.data()), DType::F32}, count);
    };
    differences.compute(kernels, reduction, windows, begin, count);
    load(0, base);
    for (std::size_t i = 0; i < count; ++i) counts[0] += std::isfinite(base[i]) ? 0 : 1;
    for (std::size_t s = 1; s < reduction.sources.size(); ++s) {
        load(s, expert);
        const float* x = differences.of(s - 1);
        for (std::size_t i = 0; i < count; ++i)
            counts[s] +=
                !std::isfinite(expert[i]) || (std::isfinite(base[i]) && !std::isfinite(x[i])) ? 1 : 0;
    }
}

}  // namespace

Status reduce(const Kernels& kernels, const Reduction& reduction, Sums sums, Control control) {
    const std::size_t count = reduction.rows * reduction.columns, experts = reduction.sources.size() - 1;
    const Windows windows(reduction.sources,
                          [&](const Range& source) { return count * sizeOf(source.dtype); });
    if (windows.status.outcome != Outcome::Done) return windows.status;

    Differences differences(experts);
    Magnitudes magnitudes(kernels, reduction, sums.magnitudes);
    Pairs pairs(sums.pairs.empty() ? 0 : experts);
    std::size_t elementBytes = 0;
    for (const Range& source : reduction.sources) elementBytes += sizeOf(source.dtype);

    const auto forEachTile = [&](const auto& work) -> Status {
        for (std::size_t begin = 0; begin < count;) {
            if (control.cancelled()) return {Outcome::Cancelled};
            const bool whole = guarded(windows.bytes, [&] {
                for (std::size_t t = 0; t < kTilesTogether && begin < count; ++t) {
                    const std::size_t length = tileAt(reduction, begin);
                    work(begin, length);
                    begin += length;
                }
            });
            if (!whole) return windows.lostPage();
        }
        return {};
    };

    Status status = forEachTile([&](std::size_t begin, std::size_t length) {
        differences.compute(kernels, reduction, windows, begin, length);
        magnitudes.add(differences, begin, length);
        if (!sums.pairs.empty()) pairs.add(kernels, differences, length);
    });
    if (status.outcome != Outcome::Done) return status;
    if (!sums.pairs.empty()) pairs.store(sums.pairs);
    control.count(count * elementBytes, 0);

    const auto isFinite = [](double sum) { return std::isfinite(sum); };
    if (std::ranges::all_of(sums.magnitudes, isFinite)) return {};
    // What is not finite says nothing of directions: those are compared once more, without it.
    Pairs finite(sums.pairs.empty() ? 0 : experts);
    status = forEachTile([&](std::size_t begin, std::size_t length) {
        countNonFinite(kernels, reduction, windows, differences, begin, length, sums.nonFinite);
        differences.clean(experts, length);
        if (!sums.pairs.empty()) finite.add(kernels, differences, length);
    });
    if (status.outcome == Outcome::Done && !sums.pairs.empty()) finite.store(sums.pairs);
    return status;
}

}  // namespace layerloom
