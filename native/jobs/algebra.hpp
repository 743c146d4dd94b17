#pragma once
#include <cstddef>
#include <vector>

namespace layerloom {

/// A small matrix of float64, row by row.
struct Matrix {
    std::size_t rows, columns;
    std::vector<double> numbers;

    Matrix(std::size_t rows, std::size_t columns) : rows(rows), columns(columns), numbers(rows * columns) {}
    double& operator()(std::size_t row, std::size_t column) { return numbers[row * columns + column]; }
    double operator()(std::size_t row, std::size_t column) const { return numbers[row * columns + column]; }
};

/// Returns T for which the columns of X · T are orthonormal, from the Gram matrix XᵀX: by a pivoted Cholesky
/// factorisation of it, scaled to columns of length 1. T has as many columns as X has independent ones: those
/// that others come within 1e-7 of their length are left out. Orthonormal up to the condition of the scaled
/// Gram matrix times float64's precision, so that doing it twice gives full precision.
Matrix orthonormaliser(const Matrix& gram);

/// The eigenvalues of a symmetric matrix, largest first, and its eigenvectors in the columns of `vectors`.
struct Eigen {
    std::vector<double> values;
    Matrix vectors;
};

/// Finds them by Householder's reduction and implicit QL steps, which use no function but the square root: the
/// same bits on every machine.
Eigen eigenOf(const Matrix& symmetric);

}  // namespace layerloom
