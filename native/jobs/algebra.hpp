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

/// Returns T such that the columns of X · T are orthonormal, from XᵀX, by a pivoted Cholesky factorisation
/// scaled to columns of length 1. Drops columns within 1e-7 of their length of the others' span. The error is
/// the condition of the scaled Gram matrix times float64's precision, so a second pass gives full precision.
Matrix orthonormaliser(const Matrix& gram);

/// Eigenvalues, largest first, and eigenvectors in the columns of `vectors`.
struct Eigen {
    std::vector<double> values;
    Matrix vectors;
};

/// By Householder's reduction and implicit QL steps. The square root is the only function, so bits are equal
/// on every machine.
Eigen eigenOf(const Matrix& symmetric);

}  // namespace layerloom
