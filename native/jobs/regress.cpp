#include "regress.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "check.hpp"
#include "definite.hpp"
#include "rounded_rows.hpp"
#include "tiles.hpp"

namespace layerloom {
namespace {

/// Maximum number of rows of a Gram matrix that are summed together. Part of the numeric contract.
constexpr std::size_t kDepth = 256;
/// Maximum number of elements in these rows. Part of the numeric contract.
constexpr std::size_t kTileElements = 4 * 1024 * 1024;
/// Smallest share of the diagonal that float32 can distinguish from 0.
constexpr double kLeastPivot = 0x1p-23;

/// Tolerance between sums over a row and over a column, as a share of the sum of magnitudes.
constexpr double kAsymmetry = 0x1p-12;

/// Maximum number of inputs, which limits memory for tiles.
constexpr std::uint64_t kMostInputs = 65'536;

class Regressor {
  public:
    Regressor(const Kernels& kernels, const Regression& what, const Windows& ofMatrices, const Windows& ofGrams,
              Control control)
        : kernels_(kernels),
          what_(what),
          ofMatrices_(ofMatrices),
          ofGrams_(ofGrams),
          control_(control),
          inputs_(static_cast<std::size_t>(what.matrices.columns)),
          outputs_(static_cast<std::size_t>(what.matrices.count) / inputs_),
          depth_(std::clamp(kTileElements / inputs_, std::size_t{1}, kDepth)),
          grams_(kernels, what.grams, ofGrams),
          system_(inputs_),
          result_(kernels, what.matrices, what.dtype, what.to) {}

    Status run(std::span<double> out);

  private:
    Status addGrams(std::span<double> out);
    void addRidge(TiledRows& x) const;
    /// Visits the rows of the Gram matrices: work(first row, rows).
    template <class Work>
    Status overGrams(const Work& work);
    double factorOf(std::size_t model, bool onDiagonal) const {
        return onDiagonal ? what_.shares[model] : what_.shares[model] * what_.scaling;
    }
    const float* copied(std::size_t model) const { return copied_.data() + model * kSolvedRows * inputs_; }
    void addProducts(std::size_t model, std::size_t row, std::size_t depth, TiledRows& x);

    const Kernels& kernels_;
    const Regression& what_;
    const Windows &ofMatrices_, &ofGrams_;
    Control control_;
    std::size_t inputs_, outputs_, depth_;
    Evaluator grams_;
    Definite system_;
    double ridge_ = 0;  ///< ε, added to the diagonal
    std::vector<float> copied_;  ///< some rows of each W
    std::vector<double> differences_, packed_;
    RoundedRows result_;
};

template <class Work>
Status Regressor::overGrams(const Work& work) {
    return overTiles(grams_, what_.grams, ofGrams_, control_, depth_, work);
}

/// system = Σ sG̃, models in order. Checks symmetry by comparing weighted sums of rows and columns.
Status Regressor::addGrams(std::span<double> out) {
    struct Sums {
        std::vector<double> rows, columns, magnitudes;
    };
    const auto factor = [](std::size_t at) { return 1 + static_cast<double>(at * 5 % 13) / 16; };
    std::vector<Sums> sums(what_.of.size());
    for (Sums& of : sums) of.rows = of.columns = of.magnitudes = std::vector<double>(inputs_);
    const Status status = overGrams([&](std::size_t first, std::size_t rows) {
        for (std::size_t model = 0; model < what_.of.size(); ++model) {
            const float* gram = grams_.floats(what_.of[model]);
            auto& [ofRows, ofColumns, magnitudes] = sums[model];
            for (std::size_t row = first; row < first + rows; ++row, gram += inputs_) {
                for (std::size_t column = 0; column <= row; ++column)
                    system_.at(row, column) += factorOf(model, row == column) * static_cast<double>(gram[column]);
                double sum = 0, magnitude = 0;
                for (std::size_t column = 0; column < inputs_; ++column) {
                    const double element = gram[column];
                    sum += element * factor(column);
                    magnitude += std::fabs(element);
                    ofColumns[column] += element * factor(row);
                }
                ofRows[row] = sum;
                magnitudes[row] = magnitude;
            }
        }
    });
    for (std::size_t model = 0; model < sums.size(); ++model)
        for (std::size_t i = 0; i < inputs_ && out[0] == 0; ++i) {
            const auto& [rows, columns, magnitudes] = sums[model];
            if (std::fabs(rows[i] - columns[i]) <= kAsymmetry * magnitudes[i]) continue;
            out[static_cast<std::size_t>(RegressionNumber::Column)] = static_cast<double>(i + 1);
            out[static_cast<std::size_t>(RegressionNumber::Asymmetric)] = static_cast<double>(model + 1);
        }
    return status;
}

/// x += s(W − W₀)·rows [row, row + depth) of G̃, for the matching columns of W.
void Regressor::addProducts(std::size_t model, std::size_t row, std::size_t depth, TiledRows& x) {
    const float *of = copied(model), *first = copied(0);
    for (std::size_t i = 0; i < x.rows(); ++i)
        for (std::size_t k = 0; k < depth; ++k) {
            const std::size_t at = i * inputs_ + row + k;
            differences_[i * depth + k] = static_cast<double>(of[at]) - static_cast<double>(first[at]);
        }
    const double beside = factorOf(model, false), on = factorOf(model, true);
    const float* gram = grams_.floats(what_.of[model]);
    for (std::size_t tile = 0; tile < x.tiles(); ++tile) {
        const std::size_t begin = tile * kTileColumns, width = x.width(tile);
        for (std::size_t panel = 0; panel < width; panel += kPanel)
            for (std::size_t k = 0; k < depth; ++k)
                for (std::size_t j = 0; j < kPanel; ++j) {
                    const std::size_t column = begin + panel + j;
                    packed_[panel * depth + k * kPanel + j] =
                        column < inputs_ ? (column == row + k ? on : beside) *
                                               static_cast<double>(gram[k * inputs_ + column])
                                         : 0;
                }
        kernels_.addWideProduct({differences_.data(), depth, 1, x.rows(), depth, packed_.data(), depth * kPanel,
                                 width / kPanel, x.tile(tile)});
    }
}

/// x += εs(W − W₀): divides εI among the models by s.
void Regressor::addRidge(TiledRows& x) const {
    for (std::size_t model = 1; model < what_.values.size(); ++model)
        for (std::size_t row = 0; row < x.rows(); ++row)
            for (std::size_t column = 0; column < inputs_; ++column) {
                const std::size_t at = row * inputs_ + column;
                x.at(row, column) +=
                    ridge_ * what_.shares[model] *
                    (static_cast<double>(copied(model)[at]) - static_cast<double>(copied(0)[at]));
            }
}

Status Regressor::run(std::span<double> out) {
    Status status = addGrams(out);
    if (status.outcome != Outcome::Done || out[0] != 0) return status;
    if (what_.ridge > 0) {
        double trace = 0;
        for (std::size_t i = 0; i < inputs_; ++i) trace += system_.at(i, i);
        ridge_ = what_.ridge * (trace / static_cast<double>(inputs_));
        for (std::size_t i = 0; i < inputs_; ++i) system_.at(i, i) += ridge_;
    }
    std::optional<SmallPivot> small;
    if (const Outcome outcome = system_.factorise(kernels_, kLeastPivot, control_, small); outcome != Outcome::Done)
        return {outcome};
    if (small) {
        out[static_cast<std::size_t>(RegressionNumber::Column)] = static_cast<double>(small->column + 1);
        out[static_cast<std::size_t>(RegressionNumber::Diagonal)] = small->diagonal;
        return {};
    }
    const std::size_t most = std::min(kSolvedRows, outputs_);
    copied_.resize(what_.values.size() * kSolvedRows * inputs_);
    differences_.resize(most * depth_);
    packed_.resize(depth_ * kTileColumns);
    Evaluator matrices(kernels_, what_.matrices, ofMatrices_);
    for (std::size_t first = 0; first < outputs_; first += kSolvedRows) {
        TiledRows x(std::min(kSolvedRows, outputs_ - first), inputs_);
        status = atRows(matrices, what_.matrices, ofMatrices_, control_, first, x.rows(), [&] {
            for (std::size_t model = 0; model < what_.values.size(); ++model)
                std::copy_n(matrices.floats(what_.values[model]), x.rows() * inputs_,
                            copied_.data() + model * kSolvedRows * inputs_);
            matrices.look();
        });
        if (status.outcome != Outcome::Done) return status;
        if (ridge_ > 0) addRidge(x);
        status = overGrams([&](std::size_t row, std::size_t depth) {
            for (std::size_t model = 1; model < what_.values.size(); ++model) addProducts(model, row, depth, x);
        });
        if (status.outcome != Outcome::Done) return status;
        if (const Outcome outcome = system_.solve(kernels_, x, control_); outcome != Outcome::Done)
            return {outcome};
        status = result_.write(first, x.rows(), control_, [&](std::size_t row, double* numbers) {
            for (std::size_t column = 0; column < inputs_; ++column)
                numbers[column] = static_cast<double>(copied(0)[row * inputs_ + column]) + x.at(row, column);
        });
        if (status.outcome != Outcome::Done) return status;
    }
    status.nonFinite = std::move(matrices.nonFinite());
    if (result_.nonFinite() && status.nonFinite.empty()) status.nonFinite.push_back(*result_.nonFinite());
    return status;
}

}  // namespace

void Regression::check() const {
    checkMatrices(matrices, values, "values");
    checkMatrices(grams, of, "of");
    const std::uint64_t inputs = matrices.columns;
    require(inputs <= kMostInputs && grams.columns == inputs && grams.count == inputs * inputs, "grams");
    require(!values.empty() && of.size() == values.size(), "of");
    require(shares.size() == values.size(), "shares");
    for (const double share : shares) require(share > 0 && share <= 1, "shares");
    require(scaling >= 0 && scaling <= 1, "scaling");
    require(ridge >= 0 && std::isfinite(ridge), "ridge");
    checkElements(to, sizeOf(dtype), 0, matrices.count, "to");
}

std::size_t Regression::size() const { return kRegressionNumbers; }

Status Regression::solve(const Kernels& kernels, std::span<double> out, Control control) const {
    const Windows ofMatrices(matrices.windows()), ofGrams(grams.windows(), matrices.sources.size());
    for (const Windows* windows : {&ofMatrices, &ofGrams})
        if (windows->status.outcome != Outcome::Done) return windows->status;
    return Regressor(kernels, *this, ofMatrices, ofGrams, control).run(out);
}

}  // namespace layerloom
