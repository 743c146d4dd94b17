#include "algebra.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

namespace layerloom {
namespace {

/// Squared distance of a column of length 1 from the span of those before it, below which it is left out.
constexpr double kDependent = 1e-14;

/// Rotations of one sweep reduce what is off the diagonal quadratically in the end: fewer than ten are needed.
constexpr int kMostSweeps = 30;

/// The rotation that makes element (p, q) 0: its cosine and sine.
std::pair<double, double> rotationAt(const Matrix& of, std::size_t p, std::size_t q) {
    const double theta = (of(q, q) - of(p, p)) / (2 * of(p, q));
    // The smaller root; of a huge theta the square would be infinite, and the root 0 as it should be.
    const double t = (theta < 0 ? -1 : 1) / (std::fabs(theta) + std::sqrt(theta * theta + 1));
    const double cosine = 1 / std::sqrt(t * t + 1);
    return {cosine, t * cosine};
}

/// Rotates rows p and q.
void rotate(Matrix& rows, std::size_t p, std::size_t q, double cosine, double sine) {
    double *a = &rows(p, 0), *b = &rows(q, 0);
    for (std::size_t i = 0; i < rows.columns; ++i) {
        const double x = a[i], y = b[i];
        a[i] = cosine * x - sine * y;
        b[i] = sine * x + cosine * y;
    }
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
    // Lower triangular: row i is of column order[i].
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
    // T = P · D⁻¹ · (Lᵀ)⁻¹, the inverse column by column.
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

Eigen eigenOf(Matrix symmetric) {
    const std::size_t n = symmetric.rows;
    // Rows are eigenvectors, since rows lie together in memory.
    Matrix vectors(n, n);
    for (std::size_t i = 0; i < n; ++i) vectors(i, i) = 1;
    for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
        bool isDone = true;
        for (std::size_t p = 0; p + 1 < n; ++p)
            for (std::size_t q = p + 1; q < n; ++q) {
                const double off = symmetric(p, q);
                if (std::fabs(off) <= 1e-15 * std::sqrt(std::fabs(symmetric(p, p) * symmetric(q, q)))) continue;
                isDone = false;
                const auto [cosine, sine] = rotationAt(symmetric, p, q);
                rotate(symmetric, p, q, cosine, sine);
                for (std::size_t i = 0; i < n; ++i) {
                    const double x = symmetric(i, p), y = symmetric(i, q);
                    symmetric(i, p) = cosine * x - sine * y;
                    symmetric(i, q) = sine * x + cosine * y;
                }
                symmetric(p, q) = symmetric(q, p) = 0;
                rotate(vectors, p, q, cosine, sine);
            }
        if (isDone) break;
    }
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t i) { return symmetric(i, i); });
    Eigen eigen{{}, Matrix(n, n)};
    for (std::size_t c = 0; c < n; ++c) {
        eigen.values.push_back(std::max(0.0, symmetric(order[c], order[c])));
        for (std::size_t i = 0; i < n; ++i) eigen.vectors(i, c) = vectors(order[c], i);
    }
    return eigen;
}

}  // namespace layerloom
