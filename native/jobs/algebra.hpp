#pragma once
#include <cstddef>
#include <vector>

namespace layerloom {

struct Matrix {
    std::size_t rows, columns;
    std::vector<double> numbers;

    Matrix(std::size_t rows, std::size_t columns) : rows(rows), columns(columns), numbers(rows * columns) {}
    double& operator()(std::size_t row, std::size_t column) { return numbers[row * columns + column]; }
    double operator()(std::size_t row, std::size_t column) const { return numbers[row * columns + column]; }
};

/// Returns T such that the columns of X·T are orthonormal, from XᵀX, by a pivoted Cholesky factorisation
/// with columns scaled to length 1. Drops a column whose distance to the other columns' span is below 1e-7 of its
/// length. The error is the scaled Gram matrix's condition times float64's precision, so a second pass gives full
/// precision.
Matrix orthonormaliser(const Matrix& gram);

/// Eigenvalues, largest first, and eigenvectors in the columns of `vectors`.
struct Eigen {
    std::vector<double> values;
    Matrix vectors;
};

/// Uses Householder's reduction and implicit QL steps. The only function used is the square root, so that
/// bits are equal on every machine.
Eigen eigenOf(const Matrix& symmetric);

}  // namespace layerloom
