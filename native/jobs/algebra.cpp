#include "algebra.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

namespace layerloom {
namespace {

/// A unit column is dependent if its squared distance to the span of earlier ones is smaller than this.
constexpr double kDependent = 1e-14;

/// Maximum number of QL steps for an eigenvalue; usually two are enough.
constexpr std::size_t kMostSteps = 60;

/// A symmetric matrix as Qᵀ T Q with tridiagonal T.
struct Tridiagonal {
    std::vector<double> diagonal, beside;  ///< beside[i] is at (i, i + 1); the last is 0
    Matrix q;
};

Tridiagonal reduce(Matrix a) {
    const std::size_t n = a.rows;
    Tridiagonal to{std::vector<double>(n), std::vector<double>(n), Matrix(n, n)};
    for (std::size_t i = 0; i < n; ++i) to.q(i, i) = 1;
    std::vector<double> v(n), w(n);
    for (std::size_t k = 0; k + 2 < n; ++k) {
        double squares = 0;
        for (std::size_t i = k + 2; i < n; ++i) squares += a(i, k) * a(i, k);
        if (squares == 0) continue;
        const double first = a(k + 1, k), length = std::sqrt(first * first + squares);
        const double onto = first > 0 ? -length : length;
        for (std::size_t i = k + 1; i < n; ++i) v[i] = a(i, k);
        v[k + 1] -= onto;
        const double beta = 2 / (v[k + 1] * v[k + 1] + squares);
        // A ← H A H, H = 1 − beta v vᵀ: A − v wᵀ − w vᵀ.
        std::fill(w.begin(), w.end(), 0.0);
        for (std::size_t j = k + 1; j < n; ++j)
            for (std::size_t i = k + 1; i < n; ++i) w[i] += a(j, i) * v[j];
        double along = 0;
        for (std::size_t i = k + 1; i < n; ++i) along += v[i] * w[i];
        for (std::size_t i = k + 1; i < n; ++i) w[i] = beta * (w[i] - beta / 2 * along * v[i]);
        for (std::size_t j = k + 1; j < n; ++j)
            for (std::size_t i = k + 1; i < n; ++i) a(j, i) -= v[j] * w[i] + w[j] * v[i];
        a(k + 1, k) = a(k, k + 1) = onto;
        // Q ← H Q.
        std::fill(w.begin(), w.end(), 0.0);
        for (std::size_t j = k + 1; j < n; ++j)
            for (std::size_t i = 0; i < n; ++i) w[i] += to.q(j, i) * v[j];
        for (std::size_t j = k + 1; j < n; ++j)
            for (std::size_t i = 0; i < n; ++i) to.q(j, i) -= beta * v[j] * w[i];
    }
    for (std::size_t i = 0; i < n; ++i) {
        to.diagonal[i] = a(i, i);
        to.beside[i] = i + 1 < n ? a(i + 1, i) : 0;
    }
    return to;
}

/// Returns the first index from `from` on after which T splits.
std::size_t splitOf(const Tridiagonal& of, std::size_t from) {
    std::size_t at = from;
    for (; at + 1 < of.diagonal.size(); ++at) {
        const double size = std::fabs(of.diagonal[at]) + std::fabs(of.diagonal[at + 1]);
        if (std::fabs(of.beside[at]) <= std::numeric_limits<double>::epsilon() * size) break;
    }
    return at;
}

/// Makes an implicit QL step with Wilkinson's shift on rows [from, to] of T, and rotates Q too.
void step(Tridiagonal& of, std::size_t from, std::size_t to) {
    auto& [d, e, q] = of;
    double g = (d[from + 1] - d[from]) / (2 * e[from]);
    const double root = std::sqrt(g * g + 1);
    g = d[to] - d[from] + e[from] / (g + (g < 0 ? -root : root));
    double sine = 1, cosine = 1, shift = 0;
    for (std::size_t i = to; i-- > from;) {
        const double f = sine * e[i], b = cosine * e[i];
        const double length = std::sqrt(f * f + g * g);
        e[i + 1] = length;
        if (length == 0) {
            d[i + 1] -= shift;
            e[to] = 0;
            return;
        }
        sine = f / length;
        cosine = g / length;
        g = d[i + 1] - shift;
        const double rest = (d[i] - g) * sine + 2 * cosine * b;
        shift = sine * rest;
        d[i + 1] = g + shift;
        g = cosine * rest - b;
        double *low = &q(i, 0), *high = &q(i + 1, 0);
        for (std::size_t k = 0; k < q.columns; ++k) {
            const double x = low[k], y = high[k];
            high[k] = sine * x + cosine * y;
            low[k] = cosine * x - sine * y;
        }
    }
    d[from] -= shift;
    e[from] = g;
    e[to] = 0;
}

}  // namespace

Matrix orthonormaliser(const Matrix& gram) {
    const std::size_t n = gram.rows;
    std::vector<double> lengths(n), left(n);
    for (std::size_t i = 0; i < n; ++i) {
        lengths[i] = std::sqrt(gram(i, i));
        left[i] = lengths[i] > 0 ? 1 : 0;
    }
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    // The factor is lower triangular; row i belongs to column order[i].
    Matrix factor(n, n);
    std::size_t kept = 0;
    for (; kept < n; ++kept) {
        const auto next = std::ranges::max_element(order.begin() + static_cast<std::ptrdiff_t>(kept), order.end(),
                                                   {}, [&](std::size_t column) { return left[column]; });
        const auto with = static_cast<std::size_t>(next - order.begin());
        if (left[order[with]] <= kDependent) break;
        std::swap(order[kept], order[with]);
        for (std::size_t k = 0; k < kept; ++k) std::swap(factor(kept, k), factor(with, k));
        const double diagonal = std::sqrt(left[order[kept]]);
        factor(kept, kept) = diagonal;
        for (std::size_t i = kept + 1; i < n; ++i) {
            if (lengths[order[i]] == 0) continue;
            double sum = gram(order[i], order[kept]) / (lengths[order[i]] * lengths[order[kept]]);
            for (std::size_t k = 0; k < kept; ++k) sum -= factor(i, k) * factor(kept, k);
            factor(i, kept) = sum / diagonal;
            left[order[i]] -= factor(i, kept) * factor(i, kept);
        }
    }
    // T = P·D⁻¹·(Lᵀ)⁻¹, whose last factor is computed column by column.
    Matrix result(n, kept);
    std::vector<double> column(kept);
    for (std::size_t c = 0; c < kept; ++c) {
        for (std::size_t i = c + 1; i-- > 0;) {
            double sum = i == c ? 1 : 0;
            for (std::size_t k = i + 1; k <= c; ++k) sum -= factor(k, i) * column[k];
            column[i] = sum / factor(i, i);
        }
        for (std::size_t i = 0; i <= c; ++i) result(order[i], c) = column[i] / lengths[order[i]];
    }
    return result;
}

Eigen eigenOf(const Matrix& symmetric) {
    const std::size_t n = symmetric.rows;
    Tridiagonal of = reduce(symmetric);
    for (std::size_t from = 0; from < n; ++from)
        for (std::size_t steps = 0; steps < kMostSteps; ++steps) {
            const std::size_t to = splitOf(of, from);
            if (to == from) break;
            step(of, from, to);
        }
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t i) { return of.diagonal[i]; });
    Eigen eigen{{}, Matrix(n, n)};
    for (std::size_t c = 0; c < n; ++c) {
        eigen.values.push_back(std::max(0.0, of.diagonal[order[c]]));
        for (std::size_t i = 0; i < n; ++i) eigen.vectors(i, c) = of.q(order[c], i);
    }
    return eigen;
}

}  // namespace layerloom
