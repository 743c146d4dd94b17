#include "spectral.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "check.hpp"
#include "polar.hpp"
#include "rounded_rows.hpp"
#include "task_vectors.hpp"
#include "tiles.hpp"

namespace layerloom {
namespace {

/// Maximum dimension, which limits memory for the system's tiles and the matrix.
constexpr std::uint64_t kMostExtent = 65'536;

class SpectralMerger {
  public:
    SpectralMerger(const Kernels& kernels, const Spectral& what, const Windows& windows, Control control)
        : kernels_(kernels),
          what_(what),
          windows_(windows),
          control_(control),
          columns_(static_cast<std::size_t>(what.program.columns)),
          rows_(static_cast<std::size_t>(what.program.count) / columns_),
          evaluator_(kernels, what.program, windows),
          isWide_(rows_ < columns_),
          extent_(std::min(rows_, columns_)) {}

    Status run();

  private:
    /// Returns a zero matrix with at most as many columns as rows: a wide matrix is transposed.
    TiledRows zeros() const { return {std::max(rows_, columns_), extent_}; }
    double& at(TiledRows& x, std::size_t row, std::size_t column) const {
        return isWide_ ? x.at(column, row) : x.at(row, column);
    }
    /// Visits the sum of changes row by row: work(row, numbers). The first pass searches NaN and infinity.
    template <class Work>
    Status overChanges(std::span<const ValueId> sources, const Work& work);
    Status readChange(std::span<const ValueId> sources, TiledRows& to);
    /// Computes X and its factor, which is NaN if a change is not finite.
    Status isotropic(TiledRows& x, double& factor);
    Status taskVectors(TiledRows& x, double& factor);
    Status write(TiledRows& x, double factor);

    const Kernels& kernels_;
    const Spectral& what_;
    const Windows& windows_;
    Control control_;
    std::size_t columns_, rows_;
    Evaluator evaluator_;
    bool isWide_, hasLooked_ = false;
    std::size_t extent_;  ///< the smaller dimension
};

template <class Work>
Status SpectralMerger::overChanges(std::span<const ValueId> sources, const Work& work) {
    std::vector<double> change(columns_);
    const bool looks = !std::exchange(hasLooked_, true);
    return overTiles(evaluator_, what_.program, windows_, control_, kSolvedRows, [&](std::size_t first, std::size_t rows) {
        for (std::size_t row = 0; row < rows; ++row) {
            std::fill(change.begin(), change.end(), 0.0);
            const float* const base = evaluator_.floats(what_.base) + row * columns_;
            for (const ValueId source : sources) {
                const float* const of = evaluator_.floats(source) + row * columns_;
                for (std::size_t i = 0; i < columns_; ++i)
                    change[i] += static_cast<double>(of[i]) - static_cast<double>(base[i]);
            }
            work(first + row, change.data());
        }
        if (looks) evaluator_.look();
    });
}

Status SpectralMerger::readChange(std::span<const ValueId> sources, TiledRows& to) {
    return overChanges(sources, [&](std::size_t row, const double* change) {
        for (std::size_t i = 0; i < columns_; ++i) at(to, row, i) = change[i];
    });
}

Status SpectralMerger::isotropic(TiledRows& x, double& factor) {
    x = zeros();
    Status status = readChange(what_.sources, x);
    if (status.outcome != Outcome::Done) return status;
    bool isFinite = true;
    if (const Outcome outcome = toPolarFactor(kernels_, x, control_, isFinite); outcome != Outcome::Done)
        return {outcome};
    factor = std::numeric_limits<double>::quiet_NaN();
    if (!isFinite) return status;
    double sum = 0;  // Σ σ·f(σ), the inner product of the two
    status = overChanges(what_.sources, [&](std::size_t row, const double* change) {
        double ofRow = 0;
        for (std::size_t i = 0; i < columns_; ++i) ofRow += change[i] * at(x, row, i);
        sum += ofRow;
    });
    factor = what_.scale * (sum / static_cast<double>(extent_));
    return status;
}

Status SpectralMerger::taskVectors(TiledRows& x, double& factor) {
    TaskVectors tasks(kernels_, control_, what_.sources.size(), std::max(rows_, columns_), extent_);
    for (const ValueId& source : what_.sources) {
        TiledRows change = zeros();
        const Status status = readChange({&source, 1}, change);
        if (status.outcome != Outcome::Done) return status;
        if (const Outcome outcome = tasks.add(std::move(change)); outcome != Outcome::Done) return {outcome};
    }
    factor = tasks.isFinite() ? what_.scale : std::numeric_limits<double>::quiet_NaN();
    if (tasks.isFinite()) return {tasks.merge(x)};
    x = zeros();
    return {};
}

Status SpectralMerger::write(TiledRows& x, double factor) {
    RoundedRows result(kernels_, what_.program, what_.dtype, what_.to);
    std::vector<float> base(std::min(kSolvedRows, rows_) * columns_);
    Status status;
    for (std::size_t first = 0; first < rows_; first += kSolvedRows) {
        const std::size_t count = std::min(kSolvedRows, rows_ - first);
        status = atRows(evaluator_, what_.program, windows_, control_, first, count,
                        [&] { std::copy_n(evaluator_.floats(what_.base), count * columns_, base.data()); });
        if (status.outcome != Outcome::Done) return status;
        status = result.write(first, count, control_, [&](std::size_t row, double* numbers) {
            for (std::size_t i = 0; i < columns_; ++i) {
                const double from = base[row * columns_ + i], change = factor * at(x, first + row, i);
                // Adding 0 would turn −0 into 0.
                numbers[i] = change == 0 ? from : from + change;
            }
        });
        if (status.outcome != Outcome::Done) return status;
    }
    if (result.nonFinite()) status.nonFinite.push_back(*result.nonFinite());
    return status;
}

Status SpectralMerger::run() {
    TiledRows x(0, 0);
    double factor = 0;
    Status status = what_.rule == SpectralRule::IsoC ? isotropic(x, factor) : taskVectors(x, factor);
    if (status.outcome != Outcome::Done) return status;
    std::vector<NonFiniteElement> nonFinite = std::move(evaluator_.nonFinite());
    status = write(x, factor);
    if (!nonFinite.empty()) status.nonFinite = std::move(nonFinite);
    return status;
}

}  // namespace

void Spectral::check() const {
    checkMatrices(program, {base}, "base");
    checkMatrices(program, sources, "sources");
    require(!sources.empty(), "sources");
    require(std::min(program.columns, program.count / program.columns) <= kMostExtent, "program");
    require(std::isfinite(scale), "scale");
    checkElements(to, sizeOf(dtype), 0, program.count, "to");
}

std::size_t Spectral::size() const { return 0; }

Status Spectral::solve(const Kernels& kernels, std::span<double>, Control control) const {
    const Windows windows(program.windows());
    if (windows.status.outcome != Outcome::Done) return windows.status;
    return SpectralMerger(kernels, *this, windows, control).run();
}

}  // namespace layerloom
