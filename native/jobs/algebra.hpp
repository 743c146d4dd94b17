#pragma once
#include <cstddef>
#include <vector>

namespace layerloom {

/// A small row-major matrix of float64.
struct Matrix {
    std::size_t rows, columns;
    std::vector<double> numbers;

    Matrix(std::size_t rows, std::size_t columns) : rows(rows), columns(columns), numbers(rows * columns) {}
    double& operator()(std::size_t row, std::size_t column) { return numbers[row * columns + column]; }
    double operator()(std::size_t row, std::size_t column) const { return numbers[row * columns + column]; }
};

/// Returns T such that the columns of X · T are orthonormal, from the Gram matrix XᵀX, by a pivoted Cholesky
/// factorisation scaled to columns of length 1. T has a column for each independent column of X; columns
/// within 1e-7 of their length of the others' span are dropped. The error is the condition of the scaled Gram
/// matrix times float64's precision, so a second pass gives full precision.
Matrix orthonormaliser(const Matrix& gram);

/// Eigenvalues of a symmetric matrix, largest first, and eigenvectors in the columns of `vectors`.
struct Eigen {
    std::vector<double> values;
    Matrix vectors;
};

/// Uses Householder's reduction and implicit QL steps. The square root is the only function, so bits are
/// equal on every machine.
Eigen eigenOf(const Matrix& symmetric);

}  // namespace layerloom
