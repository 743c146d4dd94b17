#include "pursue.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "../io/guard.hpp"
#include "check.hpp"
#include "evaluator.hpp"
#include "measures/accumulator.hpp"

namespace layerloom {
namespace {

/// Columns summed in float32: part of the numeric contract.
constexpr std::size_t kBlock = 256;
/// Not a power of two, which would map all rows to a few cache sets.
constexpr std::size_t kBlockStride = kBlock + 16;
/// A multiple of a panel's columns.
constexpr std::size_t kTileAtoms = 64;
/// An atom counts as dependent if its squared distance from the span of earlier ones is below this share of
/// its squared length.
constexpr double kDependent = 1e-12;
/// Maximum number of atoms, because Gram matrices of this size are factorised on one thread.
constexpr std::uint64_t kMostAtoms = 4096;

/// Σ x·y in float64, with a fixed order of lanes.
double dot(const float* x, const float* y, std::size_t count) {
    Lanes lanes{};
    std::size_t i = 0;
    for (; i + kLanes <= count; i += kLanes)
        for (std::size_t lane = 0; lane < kLanes; ++lane)
            lanes[lane] += static_cast<double>(x[i + lane]) * static_cast<double>(y[i + lane]);
    for (std::size_t lane = 0; i < count; ++i, ++lane)
        lanes[lane] += static_cast<double>(x[i]) * static_cast<double>(y[i]);
    return total(lanes);
}

double squaresOf(const double* x, std::size_t count) {
    Lanes lanes{};
    for (std::size_t i = 0; i < count; ++i) lanes[i % kLanes] += x[i] * x[i];
    return total(lanes);
}

/// The Cholesky factor L of the atoms' Gram matrix, row by row, and z with L z = Aᵀy.
struct Target {
    std::vector<std::size_t> chosen;
    std::vector<double> factor, z, coefficients;
    double squares = 0, error = 0;
    bool isDone = false;
    // The best atom in the current pass.
    double best = 0;
    std::size_t atom = 0;

    double* row(std::size_t row) { return factor.data() + row * (row + 1) / 2; }
    bool has(std::size_t atom) const { return std::ranges::find(chosen, atom) != chosen.end(); }

    /// Adds an atom.
    ///
    /// @param with products with earlier atoms, then with itself
    /// @return false if the atom depends on earlier ones
    bool add(std::size_t atom, std::span<const double> with, double withTarget) {
        const std::size_t t = chosen.size();
        factor.resize((t + 1) * (t + 2) / 2);
        double* const last = row(t);
        double left = with[t], rest = withTarget;
        for (std::size_t j = 0; j < t; ++j) {
            const double* const of = row(j);
            double sum = with[j];
            for (std::size_t m = 0; m < j; ++m) sum -= last[m] * of[m];
            last[j] = sum / of[j];
            left -= last[j] * last[j];
            rest -= last[j] * z[j];
        }
        // The negated condition also catches NaN.
        if (!(left > kDependent * with[t])) return false;
        last[t] = std::sqrt(left);
        z.push_back(rest / last[t]);
        chosen.push_back(atom);
        return true;
    }

    /// Solves Lᵀ·coefficients = z.
    void solve() {
        coefficients.assign(z.begin(), z.end());
        for (std::size_t i = chosen.size(); i-- > 0;) {
            coefficients[i] /= row(i)[i];
            for (std::size_t j = 0; j < i; ++j) coefficients[j] -= row(i)[j] * coefficients[i];
        }
    }
};

class Pursuer {
  public:
    Pursuer(const Kernels& kernels, const Pursuit& what, const Windows& atoms, const Windows& targets,
            Control control)
        : kernels_(kernels),
          what_(what),
          atomWindows_(atoms),
          targetWindows_(targets),
          control_(control),
          columns_(static_cast<std::size_t>(what.atoms.columns)),
          atoms_(static_cast<std::size_t>(what.atoms.count) / columns_),
          blocks_((columns_ + kBlock - 1) / kBlock),
          tile_(kernels, what.atoms, atoms),
          one_(kernels, what.atoms, atoms),
          targets_(static_cast<std::size_t>(what.targets.count) / columns_),
          y_(targets_.size() * columns_),
          left_(blocks_ * targets_.size() * kBlockStride),
          packed_(kTileAtoms * columns_),
          sums_(targets_.size() * kTileAtoms),
          residual_(columns_),
          atom_(columns_) {}

    Status run(std::span<double> out);

  private:
    Status readTargets();
    Status choose(bool isFirst);
    Status update();
    void update(std::size_t target);
    void pack(const float* tile, std::size_t rows);
    void setLeft(std::size_t target);
    /// Returns an atom, valid until the next call.
    const float* atom(std::size_t index) {
        one_.moveTo(index * columns_, columns_);
        return one_.floats(0);
    }

    const Kernels& kernels_;
    const Pursuit& what_;
    const Windows &atomWindows_, &targetWindows_;
    Control control_;
    std::size_t columns_, atoms_, blocks_;
    Evaluator tile_, one_;
    std::vector<Target> targets_;
    std::vector<float> y_;     ///< the targets: [target][column]
    std::vector<float> left_;  ///< residuals: [block of columns][target][column of the block]
    std::vector<float> packed_;
    std::vector<double> sums_, residual_;
    std::vector<float> atom_;
};

Status Pursuer::readTargets() {
    Evaluator evaluator(kernels_, what_.targets, targetWindows_);
    const bool whole = guarded(targetWindows_.bytes, [&] {
        for (std::size_t target = 0; target < targets_.size(); ++target) {
            evaluator.moveTo(target * columns_, columns_);
            std::copy_n(evaluator.floats(0), columns_, y_.data() + target * columns_);
        }
    });
    if (!whole) return targetWindows_.lostPage();
    control_.count(what_.targets.bytesRead(0, what_.targets.count), 0);
    for (std::size_t target = 0; target < targets_.size(); ++target) {
        const float* const y = y_.data() + target * columns_;
        for (std::size_t i = 0; i < columns_; ++i) residual_[i] = static_cast<double>(y[i]);
        targets_[target].squares = targets_[target].error = squaresOf(residual_.data(), columns_);
        targets_[target].isDone = !(targets_[target].squares > 0);
        setLeft(target);
    }
    return {};
}

void Pursuer::setLeft(std::size_t target) {
    for (std::size_t block = 0; block < blocks_; ++block) {
        const std::size_t at = block * kBlock, count = std::min(kBlock, columns_ - at);
        float* const to = left_.data() + (block * targets_.size() + target) * kBlockStride;
        for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<float>(residual_[at + i]);
    }
}

/// Packs atoms into panels [panel][column][atom of the panel], padded with zeros.
void Pursuer::pack(const float* tile, std::size_t rows) {
    for (std::size_t p = 0; p * kPanel < rows; ++p) {
        float* const panel = packed_.data() + p * columns_ * kPanel;
        const std::size_t count = std::min(kPanel, rows - p * kPanel);
        if (count < kPanel) std::fill_n(panel, columns_ * kPanel, 0.0f);
        for (std::size_t j = 0; j < count; ++j) {
            const float* const from = tile + (p * kPanel + j) * columns_;
            for (std::size_t i = 0; i < columns_; ++i) panel[i * kPanel + j] = from[i];
        }
    }
}

/// Finds for each target the atom with the largest product with the residual.
Status Pursuer::choose(bool isFirst) {
    for (Target& target : targets_) target.best = 0;
    for (std::size_t first = 0; first < atoms_; first += kTileAtoms) {
        if (control_.cancelled()) return {Outcome::Cancelled};
        const std::size_t rows = std::min(kTileAtoms, atoms_ - first);
        const std::size_t panels = (rows + kPanel - 1) / kPanel, stride = panels * kPanel;
        const bool whole = guarded(atomWindows_.bytes, [&] {
            tile_.moveTo(first * columns_, rows * columns_);
            pack(tile_.floats(0), rows);
        });
        if (!whole) return atomWindows_.lostPage();
        if (isFirst) control_.count(what_.atoms.bytesRead(first * columns_, rows * columns_), 0);
        std::fill_n(sums_.data(), targets_.size() * stride, 0.0);
        for (std::size_t block = 0; block < blocks_; ++block) {
            const std::size_t at = block * kBlock;
            kernels_.addProduct({left_.data() + block * targets_.size() * kBlockStride, kBlockStride, 1,
                                 targets_.size(), std::min(kBlock, columns_ - at),
                                 packed_.data() + at * kPanel, columns_ * kPanel, panels, sums_.data()});
        }
        for (std::size_t t = 0; t < targets_.size(); ++t) {
            Target& target = targets_[t];
            if (target.isDone) continue;
            const double* const sums = sums_.data() + t * stride;
            for (std::size_t n = 0; n < rows; ++n) {
                const double size = std::fabs(sums[n]);
                if (size > target.best && !target.has(first + n)) {
                    target.best = size;
                    target.atom = first + n;
                }
            }
        }
    }
    return {};
}

void Pursuer::update(std::size_t index) {
    Target& target = targets_[index];
    const float* const y = y_.data() + index * columns_;
    if (!(target.best > 0)) {
        target.isDone = true;
        return;
    }
    std::copy_n(atom(target.atom), columns_, atom_.data());
    std::vector<double> with;
    for (const std::size_t other : target.chosen) with.push_back(dot(atom(other), atom_.data(), columns_));
    with.push_back(dot(atom_.data(), atom_.data(), columns_));
    if (!target.add(target.atom, with, dot(atom_.data(), y, columns_))) {
        target.isDone = true;
        return;
    }
    target.solve();
    for (std::size_t i = 0; i < columns_; ++i) residual_[i] = static_cast<double>(y[i]);
    for (std::size_t j = 0; j < target.chosen.size(); ++j) {
        const double by = target.coefficients[j];
        const float* const of = atom(target.chosen[j]);
        for (std::size_t i = 0; i < columns_; ++i) residual_[i] -= by * static_cast<double>(of[i]);
    }
    target.error = squaresOf(residual_.data(), columns_);
    setLeft(index);
}

Status Pursuer::update() {
    for (std::size_t target = 0; target < targets_.size(); ++target) {
        if (control_.cancelled()) return {Outcome::Cancelled};
        if (targets_[target].isDone) continue;
        if (!guarded(atomWindows_.bytes, [&] { update(target); })) return atomWindows_.lostPage();
    }
    return {};
}

Status Pursuer::run(std::span<double> out) {
    Status status = readTargets();
    const auto k = static_cast<std::size_t>(what_.k);
    for (std::size_t step = 0; step < k && status.outcome == Outcome::Done; ++step) {
        if (std::ranges::all_of(targets_, &Target::isDone)) break;
        status = choose(step == 0);
        if (status.outcome == Outcome::Done) status = update();
    }
    for (std::size_t t = 0; t < targets_.size(); ++t) {
        const Target& target = targets_[t];
        double* const to = out.data() + t * numbersOf(k);
        to[static_cast<std::size_t>(PursuitNumber::Chosen)] = static_cast<double>(target.chosen.size());
        to[static_cast<std::size_t>(PursuitNumber::Squares)] = target.squares;
        to[static_cast<std::size_t>(PursuitNumber::Error)] = target.error;
        for (std::size_t j = 0; j < target.chosen.size(); ++j) {
            to[kPursuitNumbers + j] = static_cast<double>(target.chosen[j]);
            to[kPursuitNumbers + k + j] = target.coefficients[j];
        }
    }
    return status;
}

void checkRows(const Program& program, const char* what) {
    check(program);
    require(program.sources.size() == 1 && program.nodes.empty() && !program.isWhole(0), what);
    require(program.count > 0 && program.first % program.columns == 0 && program.count % program.columns == 0,
            what);
}

}  // namespace

void Pursuit::check() const {
    checkRows(atoms, "atoms");
    checkRows(targets, "targets");
    require(atoms.columns == targets.columns, "columns");
    require(atoms.first == 0, "atoms");
    require(k >= 1 && k <= kMostAtoms && k <= atoms.count / atoms.columns, "k");
    checkedLength(targets.count / targets.columns, numbersOf(k), "out");
}

std::size_t Pursuit::size() const { return targets.count / targets.columns * numbersOf(k); }

Status Pursuit::solve(const Kernels& kernels, std::span<double> out, Control control) const {
    const Windows ofAtoms(atoms.windows()), ofTargets(targets.windows(), atoms.sources.size());
    for (const Windows* windows : {&ofAtoms, &ofTargets})
        if (windows->status.outcome != Outcome::Done) return windows->status;
    return Pursuer(kernels, *this, ofAtoms, ofTargets, control).run(out);
}

}  // namespace layerloom
