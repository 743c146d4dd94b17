#include "task_vectors.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "polar.hpp"
#include "tridiagonal.hpp"

namespace layerloom {
namespace {

/// A direction is kept if its eigenvalue of ΔᵀΔ is above this share of the largest: its singular value is
/// above 2⁻¹⁶ of the largest. Rounding to float32 causes singular values below 2⁻²³ of it.
constexpr double kLeast = 0x1p-32;

}  // namespace

Outcome TaskVectors::add(TiledRows change) {
    const std::size_t most = columns_ / tasks_;
    if (most == 0) return Outcome::Done;
    TiledRows right(0, 0);
    {
        Definite gram(columns_);
        Outcome outcome = gram.addGram(kernels_, change, control_);
        if (outcome != Outcome::Done) return outcome;
        const double squared = gram.norm();
        if (!std::isfinite(squared)) isFinite_ = false;
        if (squared == 0 || !isFinite_) return Outcome::Done;
        Tridiagonal form(gram);
        outcome = form.reduce(kernels_, control_);
        if (outcome != Outcome::Done) return outcome;
        std::vector<double> values = form.leading(most);
        const auto isSmall = [&](double value) { return !(value > kLeast * values[0]); };
        values.erase(std::find_if(values.begin(), values.end(), isSmall), values.end());
        right = TiledRows(columns_, values.size());
        outcome = form.vectorsOf(values, kernels_, right, control_);
        if (outcome != Outcome::Done) return outcome;
    }
    Outcome outcome = makeOrthonormal(kernels_, right, control_);
    if (outcome != Outcome::Done) return outcome;
    TiledRows stretched(rows_, right.columns());
    outcome = addProduct(kernels_, change, right, 0, stretched, 0, control_);
    if (outcome != Outcome::Done) return outcome;
    change = TiledRows(0, 0);
    TiledRows left = stretched;
    outcome = makeOrthonormal(kernels_, left, control_);
    if (outcome != Outcome::Done) return outcome;
    TiledRows across = left.transposed(), inner(right.columns(), right.columns());
    outcome = addProduct(kernels_, across, stretched, 0, inner, 0, control_);
    count_ += right.columns();
    kept_.push_back({std::move(left), std::move(right), std::move(inner)});
    return outcome;
}

Outcome TaskVectors::join(TiledRows Task::* side, std::size_t rows, TiledRows& joined) {
    joined = TiledRows(rows, count_);
    std::size_t first = 0;
    for (Task& task : kept_) {
        TiledRows& of = task.*side;
        for (std::size_t row = 0; row < rows; ++row)
            for (std::size_t column = 0; column < of.columns(); ++column)
                joined.at(row, first + column) = of.at(row, column);
        first += of.columns();
        of = TiledRows(0, 0);
    }
    bool isFinite;
    return toPolarFactor(kernels_, joined, control_, isFinite);
}

Outcome TaskVectors::stretch(TiledRows& stretched) {
    TiledRows right(0, 0);
    Outcome outcome = join(&Task::right, columns_, right);
    if (outcome != Outcome::Done) return outcome;
    TiledRows across = right.transposed();
    right = TiledRows(0, 0);
    stretched = TiledRows(count_, columns_);
    std::size_t first = 0;
    for (Task& task : kept_) {
        outcome = addProduct(kernels_, task.inner, across, first, stretched, first, control_);
        if (outcome != Outcome::Done) return outcome;
        first += task.inner.columns();
    }
    return Outcome::Done;
}

Outcome TaskVectors::merge(TiledRows& sum) {
    TiledRows stretched(0, 0), left(0, 0);
    if (count_ > 0) {
        Outcome outcome = stretch(stretched);
        if (outcome == Outcome::Done) outcome = join(&Task::left, rows_, left);
        if (outcome != Outcome::Done) return outcome;
    }
    sum = TiledRows(rows_, columns_);
    return addProduct(kernels_, left, stretched, 0, sum, 0, control_);
}

}  // namespace layerloom
