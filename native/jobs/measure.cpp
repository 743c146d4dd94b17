#include "measure.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "../io/guard.hpp"

namespace layerloom {
namespace {

/// Elements of a tile, so that those of all values share the L1 cache: a multiple of what `dot` sums in
/// float32, so that a block's sums do not depend on more than the block. Where rows are summed, tiles cut
/// them, and their size is part of the numeric contract.
constexpr std::size_t kTile = 1024;
constexpr std::size_t kRowTile = 4096;
/// Tiles between two looks at the cancel flag.
constexpr std::size_t kTilesTogether = 128;

using Lanes = std::array<double, kLanes>;

/// One order of additions, whatever summed the lanes.
double total(Lanes lanes) {
    for (std::size_t half = kLanes / 2; half > 0; half /= 2)
        for (std::size_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
    return lanes[0];
}

std::size_t pairsOf(std::size_t values) { return values * (values + 1) / 2; }

/// Sums that are taken in lanes: of values, or of pairs of them.
std::size_t lanesOf(const Measure& what) {
    switch (what.kind) {
        case MeasureKind::Gram:
        case MeasureKind::RowGram:
        case MeasureKind::ColumnGram:
            return pairsOf(what.values.size());
        case MeasureKind::Magnitudes:
            return what.values.size();
        default:
            return 0;
    }
}

/// The exponential of x ≤ 0 to about 1e-15, of additions and multiplications alone: a library's differs from
/// one to the next.
double exponential(double x) {
    if (x < -700) return 0;
    constexpr double log2e = 1.4426950408889634, ln2High = 0.6931471803691238,
                     ln2Low = 1.9082149292705877e-10;
    const double k = std::floor(x * log2e + 0.5);
    const double r = (x - k * ln2High) - k * ln2Low;
    double sum = 1;
    for (int n = 13; n > 0; --n) sum = 1 + r * sum / n;
    return std::ldexp(sum, static_cast<int>(k));
}

/// The natural logarithm of a positive normal number, likewise.
double logarithm(double x) {
    int exponent;
    double m = std::frexp(x, &exponent);
    if (m < 0.70710678118654752) {
        m *= 2;
        --exponent;
    }
    const double s = (m - 1) / (m + 1), square = s * s;
    double sum = 0;
    for (int n = 21; n > 0; n -= 2) sum = 1.0 / n + square * sum;
    return exponent * 0.6931471805599453 + 2 * s * sum;
}

/// What the measures do with a tile of the block.
class Measurer {
  public:
    Measurer(const Kernels& kernels, const Measure& what, std::span<double> out,
             std::span<std::uint32_t> counts)
        : kernels_(kernels),
          what_(what),
          out_(out),
          counts_(counts),
          lanes_(lanesOf(what)),
          x_(what.values.size()) {
        for (Lanes& lanes : lanes_) lanes.fill(0);
        if (what.kind != MeasureKind::Histogram) return;
        local_.resize(counts.size());
        for (std::size_t v = 0; v < x_.size(); ++v) windows_.push_back(windowOf(v));
    }

    void add(Evaluator& evaluator, std::size_t begin, std::size_t count) {
        for (std::size_t v = 0; v < x_.size(); ++v) x_[v] = evaluator.floats(what_.values[v]);
        switch (what_.kind) {
            case MeasureKind::Gram:
                return addPairs(0, count);
            case MeasureKind::RowGram:
                return forEachRow(begin, count,
                                  [&](std::size_t row, std::size_t column, std::size_t at, std::size_t n) {
                                      if (column == 0)
                                          for (Lanes& lanes : lanes_) lanes.fill(0);
                                      addPairs(at, n);
                                      if (column + n == columns()) store(row * lanes_.size());
                                  });
            case MeasureKind::ColumnGram:
                return forEachRow(begin, count,
                                  [&](std::size_t, std::size_t column, std::size_t at, std::size_t n) {
                                      addColumns(column, at, n);
                                  });
            case MeasureKind::Magnitudes:
                for (std::size_t v = 0; v < x_.size(); ++v)
                    kernels_.sumMagnitudes(x_[v], lanes_[v].data(), count);
                return;
            case MeasureKind::Histogram:
                for (std::size_t v = 0; v < x_.size(); ++v) {
                    std::uint64_t exact[kCandidates] = {};
                    double* found = out_.data() + v * (1 + kCandidates);
                    found[0] += static_cast<double>(
                        kernels_.histogram(x_[v], windows_[v], local(v).data(), exact, count));
                    for (std::size_t c = 0; c < kCandidates; ++c)
                        found[1 + c] += static_cast<double>(exact[c]);
                }
                return;
            case MeasureKind::Ties:
                for (std::size_t v = 0; v < x_.size(); ++v)
                    out_[v] += static_cast<double>(kernels_.countMagnitude(x_[v], word(v), count));
                return;
            case MeasureKind::FindTie:
                return find(begin, count);
            case MeasureKind::Divergence:
                return forEachRow(begin, count,
                                  [&](std::size_t row, std::size_t column, std::size_t at, std::size_t n) {
                                      gather(row, column, at, n);
                                  });
            case MeasureKind::Signs:
                for (std::size_t v = 0; v < x_.size(); ++v)
                    out_[v] += static_cast<double>(kernels_.sumSigns(x_[v], count));
                return;
        }
    }

    /// Whether the rest of the block can change nothing.
    bool done() const {
        return what_.kind == MeasureKind::FindTie && seen_ == static_cast<std::uint64_t>(what_.numbers[1]);
    }

    void finish() {
        if (what_.kind == MeasureKind::Gram || what_.kind == MeasureKind::Magnitudes) store(0);
        if (what_.kind != MeasureKind::Histogram) return;
        for (std::size_t v = 0; v < windows_.size(); ++v) {
            const Window& window = windows_[v];
            for (std::size_t c = 0; c < window.wanted; ++c)
                local(v)[(window.candidates[c] - window.low) >> window.shift] +=
                    static_cast<std::uint32_t>(out_[v * (1 + kCandidates) + 1 + c]);
        }
        // Threads share the counts: whole numbers, whose sum has no order. Most are 0.
        constexpr std::size_t together = 16;
        for (std::size_t at = 0; at < counts_.size(); at += together) {
            const std::size_t end = std::min(at + together, counts_.size());
            std::uint32_t any = 0;
            for (std::size_t i = at; i < end; ++i) any |= local_[i];
            if (any == 0) continue;
            for (std::size_t i = at; i < end; ++i)
                if (const std::uint32_t count = local_[i]; count != 0)
                    __atomic_fetch_add(&counts_[i], count, __ATOMIC_RELAXED);
        }
    }

  private:
    /// Stands for no candidate.
    static constexpr std::uint32_t kNone = 0xFFFF'FFFFu;
    /// Of a histogram's value: low, last, shift and the candidates.
    static constexpr std::size_t kNumbers = 3 + kCandidates;

    std::size_t columns() const { return static_cast<std::size_t>(what_.program.columns); }
    std::uint32_t word(std::size_t i) const { return static_cast<std::uint32_t>(what_.numbers[i]); }

    Window windowOf(std::size_t v) const {
        const std::size_t at = kNumbers * v;
        Window window{word(at), word(at + 1), word(at + 2), {}, 0};
        for (std::size_t c = 0; c < kCandidates; ++c) {
            window.candidates[c] = word(at + 3 + c);
            if (window.candidates[c] != kNone) window.wanted = c + 1;
        }
        return window;
    }

    std::span<std::uint32_t> local(std::size_t v) {
        return std::span(local_).subspan(v * what_.bins, what_.bins);
    }

    template <class Work>
    void forEachRow(std::size_t begin, std::size_t count, const Work& work) const {
        for (std::size_t at = 0; at < count;) {
            const std::size_t column = (begin + at) % columns();
            const std::size_t n = std::min(count - at, columns() - column);
            work((begin + at) / columns(), column, at, n);
            at += n;
        }
    }

    void addPairs(std::size_t at, std::size_t n) {
        for (std::size_t p = 0, i = 0; i < x_.size(); ++i)
            for (std::size_t j = i; j < x_.size(); ++j, ++p)
                kernels_.dot(x_[i] + at, x_[j] + at, lanes_[p].data(), n);
    }

    void addColumns(std::size_t column, std::size_t at, std::size_t n) {
        for (std::size_t p = 0, i = 0; i < x_.size(); ++i)
            for (std::size_t j = i; j < x_.size(); ++j, ++p)
                for (std::size_t c = 0; c < n; ++c)
                    out_[(column + c) * lanes_.size() + p] +=
                        static_cast<double>(x_[i][at + c]) * static_cast<double>(x_[j][at + c]);
    }

    void store(std::size_t at) {
        for (std::size_t p = 0; p < lanes_.size(); ++p) out_[at + p] = total(lanes_[p]);
    }

    void find(std::size_t begin, std::size_t count) {
        const auto ordinal = static_cast<std::uint64_t>(what_.numbers[1]);
        for (std::size_t i = 0; i < count && seen_ < ordinal; ++i) {
            std::uint32_t bits;
            std::memcpy(&bits, x_[0] + i, sizeof bits);
            if ((bits & 0x7FFF'FFFFu) == word(0) && ++seen_ == ordinal)
                out_[0] = static_cast<double>(what_.program.first + begin + i);
        }
    }

    void gather(std::size_t row, std::size_t column, std::size_t at, std::size_t n) {
        for (std::size_t v = 0; v < 2; ++v) {
            if (column == 0) row_[v].clear();
            row_[v].insert(row_[v].end(), x_[v] + at, x_[v] + at + n);
        }
        if (column + n == columns()) out_[row] = divergence();
    }

    /// In float64: in float32 what the sum leaves is mostly rounding.
    double divergence() {
        constexpr double epsilon = 1e-8;
        for (std::vector<double>& x : row_) {
            const double most = *std::ranges::max_element(x);
            double sum = 0;
            for (double& e : x) sum += e = exponential(e - most);
            for (double& e : x) e = e / sum + epsilon;
        }
        double sum = 0;
        for (std::size_t i = 0; i < row_[0].size(); ++i)
            sum += row_[0][i] * logarithm(row_[0][i] / row_[1][i]);
        return sum;
    }

    const Kernels& kernels_;
    const Measure& what_;
    std::span<double> out_;
    std::span<std::uint32_t> counts_;
    std::vector<Lanes> lanes_;
    std::vector<const float*> x_;
    std::vector<Window> windows_;
    std::vector<std::uint32_t> local_;
    std::array<std::vector<double>, 2> row_;
    std::uint64_t seen_ = 0;
};

}  // namespace

std::size_t measureSize(const Measure& what) {
    const std::size_t values = what.values.size();
    const auto rows = static_cast<std::size_t>(what.program.count / what.program.columns);
    switch (what.kind) {
        case MeasureKind::Gram:
            return pairsOf(values);
        case MeasureKind::RowGram:
            return rows * pairsOf(values);
        case MeasureKind::ColumnGram:
            return static_cast<std::size_t>(what.program.columns) * pairsOf(values);
        case MeasureKind::Histogram:
            return (1 + kCandidates) * values;
        case MeasureKind::FindTie:
            return 1;
        case MeasureKind::Divergence:
            return rows;
        default:
            return values;
    }
}

Status measure(const Kernels& kernels, const Measure& what, std::span<double> out,
               std::span<std::uint32_t> counts, Control control) {
    const Program& program = what.program;
    const auto count = static_cast<std::size_t>(program.count);
    const Windows windows(program.sources, [&](const Range& source) { return count * sizeOf(source.dtype); });
    if (windows.status.outcome != Outcome::Done) return windows.status;

    Evaluator evaluator(kernels, program, windows);
    Measurer measurer(kernels, what, out, counts);
    const std::size_t step = evaluator.step(what.kind == MeasureKind::RowGram ? kRowTile : kTile);
    for (std::size_t begin = 0; begin < count && !measurer.done();) {
        if (control.cancelled()) return {Outcome::Cancelled};
        const bool whole = guarded(windows.bytes, [&] {
            for (std::size_t t = 0; t < kTilesTogether && begin < count; ++t, begin += step) {
                const std::size_t n = std::min(step, count - begin);
                evaluator.compute(begin, n, {});
                measurer.add(evaluator, begin, n);
            }
        });
        if (!whole) return windows.lostPage();
    }
    measurer.finish();
    control.count(program.bytesRead(count), 0);
    return {};
}

}  // namespace layerloom
