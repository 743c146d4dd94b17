#include "spectral.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "definite.hpp"
#include "rounded_rows.hpp"
#include "tiles.hpp"

namespace layerloom {
namespace {

/// Rows that are read, solved for or written together: no sum depends on it.
constexpr std::size_t kRows = 512;

/// A round X ← X(own · I + other · (I + weight · XᵀX)⁻¹): σ ← σ(a + bσ²)/(1 + cσ²) with c = weight, b / c = own and
/// a − b / c = other, the best for singular values from 2⁻²⁸ to 1. Written down, since not every machine's cube roots have
/// the same bits.
struct Round {
    double weight, own, other;
};
constexpr Round kRounds[] = {
    {274878431232.25, 0.9999961853136483, 1048575.000005722},
    {2631.3751327980153, 0.9617639639092208, 100.65159058213445},
    {8.31634587584137, 0.5064493462926136, 4.598088597185622},
    {3.0398759452537027, 0.33553586896031085, 2.6843526594711444},
};

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
          extent_(std::min(rows_, columns_)),
          x_(std::max(rows_, columns_), extent_) {}

    Status run();

  private:
    /// Δ, transposed where it is wide: its columns are then no more than its rows.
    double& at(std::size_t row, std::size_t column) { return isWide_ ? x_.at(column, row) : x_.at(row, column); }
    /// Shows Δ row by row: work(row, numbers).
    template <class Work>
    Status overChanges(bool looks, const Work& work);
    /// Replaces X by its polar factor, but where it is 0 or not finite. @return Done or Cancelled
    Outcome findFactor();
    Outcome multiply(Definite& system, double own, double other);
    Status write(double factor);

    const Kernels& kernels_;
    const Spectral& what_;
    const Windows& windows_;
    Control control_;
    std::size_t columns_, rows_;
    Evaluator evaluator_;
    bool isWide_;
    std::size_t extent_;  ///< the smaller one
    TiledRows x_;
    double squared_ = 0;     ///< ‖ΔᵀΔ‖, no less than σ² of the largest σ
    bool isFactor_ = false;  ///< of X
};

template <class Work>
Status SpectralMerger::overChanges(bool looks, const Work& work) {
    std::vector<double> change(columns_);
    return overTiles(evaluator_, what_.program, windows_, control_, kRows, [&](std::size_t first, std::size_t rows) {
        for (std::size_t row = 0; row < rows; ++row) {
            std::fill(change.begin(), change.end(), 0.0);
            const float* const base = evaluator_.floats(what_.base) + row * columns_;
            for (const ValueId source : what_.sources) {
                const float* const of = evaluator_.floats(source) + row * columns_;
                for (std::size_t i = 0; i < columns_; ++i)
                    change[i] += static_cast<double>(of[i]) - static_cast<double>(base[i]);
            }
            work(first + row, change.data());
        }
        if (looks) evaluator_.look();
    });
}

/// x ← x(own · I + other · S⁻¹)
Outcome SpectralMerger::multiply(Definite& system, double own, double other) {
    for (std::size_t first = 0; first < x_.rows(); first += kRows) {
        TiledRows solved(std::min(kRows, x_.rows() - first), extent_);
        const auto eachTile = [&](const auto& work) {
            for (std::size_t tile = 0; tile < x_.tiles(); ++tile)
                work(x_.tile(tile) + first * x_.width(tile), solved.tile(tile), solved.rows() * x_.width(tile));
        };
        eachTile([](const double* from, double* to, std::size_t count) { std::copy_n(from, count, to); });
        if (const Outcome outcome = system.solve(kernels_, solved, control_); outcome != Outcome::Done) return outcome;
        eachTile([&](double* to, const double* from, std::size_t count) {
            for (std::size_t i = 0; i < count; ++i) to[i] = own * to[i] + other * from[i];
        });
    }
    return Outcome::Done;
}

Outcome SpectralMerger::findFactor() {
    for (const Round& round : kRounds) {
        Definite system(extent_);
        Outcome outcome = system.addGram(kernels_, x_, control_);
        if (outcome != Outcome::Done) return outcome;
        const bool isFirst = &round == kRounds;
        if (isFirst) squared_ = system.norm();
        if (squared_ == 0 || !std::isfinite(squared_)) return Outcome::Done;
        system.scaleOntoOne(isFirst ? round.weight / squared_ : round.weight);
        std::optional<SmallPivot> small;
        outcome = system.factorise(kernels_, 0, control_, small);
        if (outcome != Outcome::Done || small) return outcome;
        const double length = isFirst ? std::sqrt(squared_) : 1;
        outcome = multiply(system, round.own / length, round.other / length);
        if (outcome != Outcome::Done) return outcome;
    }
    isFactor_ = true;
    return Outcome::Done;
}

Status SpectralMerger::write(double factor) {
    RoundedRows result(kernels_, what_.program, what_.dtype, what_.to);
    std::vector<float> base(std::min(kRows, rows_) * columns_);
    Status status;
    for (std::size_t first = 0; first < rows_; first += kRows) {
        const std::size_t count = std::min(kRows, rows_ - first);
        status = atRows(evaluator_, what_.program, windows_, control_, first, count,
                        [&] { std::copy_n(evaluator_.floats(what_.base), count * columns_, base.data()); });
        if (status.outcome != Outcome::Done) return status;
        status = result.write(first, count, control_, [&](std::size_t row, double* numbers) {
            for (std::size_t i = 0; i < columns_; ++i) {
                const double from = base[row * columns_ + i], change = factor * at(first + row, i);
                // A sum would lose −0.
                numbers[i] = change == 0 ? from : from + change;
            }
        });
        if (status.outcome != Outcome::Done) return status;
    }
    if (result.nonFinite()) status.nonFinite.push_back(*result.nonFinite());
    return status;
}

Status SpectralMerger::run() {
    Status status = overChanges(true, [&](std::size_t row, const double* change) {
        for (std::size_t i = 0; i < columns_; ++i) at(row, i) = change[i];
    });
    if (status.outcome != Outcome::Done) return status;
    std::vector<NonFiniteElement> nonFinite = std::move(evaluator_.nonFinite());
    if (const Outcome outcome = findFactor(); outcome != Outcome::Done) return {outcome};
    double factor = squared_ == 0 ? 0 : std::numeric_limits<double>::quiet_NaN();
    if (isFactor_) {
        double sum = 0;  // of all σ·f(σ): the inner product of both
        status = overChanges(false, [&](std::size_t row, const double* change) {
            double ofRow = 0;
            for (std::size_t i = 0; i < columns_; ++i) ofRow += change[i] * at(row, i);
            sum += ofRow;
        });
        if (status.outcome != Outcome::Done) return status;
        factor = what_.scale * (sum / static_cast<double>(extent_));
    }
    status = write(factor);
    if (!nonFinite.empty()) status.nonFinite = std::move(nonFinite);
    return status;
}

}  // namespace

Status mergeSpectra(const Kernels& kernels, const Spectral& what, Control control) {
    const Windows windows(what.program.windows());
    if (windows.status.outcome != Outcome::Done) return windows.status;
    return SpectralMerger(kernels, what, windows, control).run();
}

}  // namespace layerloom
