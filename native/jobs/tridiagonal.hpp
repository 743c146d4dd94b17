#pragma once
#include <vector>

#include "definite.hpp"

namespace layerloom {

/// A symmetric matrix A = QTQᵀ in Householder's tridiagonal form. Gives leading eigenvalues, and a basis (not
/// orthogonal) of their eigenvectors' span. Uses only square roots and divisions, so that bits are equal on
/// every machine.
class Tridiagonal {
  public:
    /// @param a finite; must outlive this object, whose reflectors overwrite the lower half of a
    explicit Tridiagonal(Definite& a) : a_(a), size_(a.size()), diagonal_(size_), beside_(size_), factors_(size_) {}

    /// Reduces A to T. Call first. @return Done or Cancelled
    Outcome reduce(const Kernels& kernels, const Control& control);

    /// Returns the `count` largest eigenvalues, the largest first, exact to some 1e-16 of the largest.
    std::vector<double> leading(std::size_t count) const;

    /// Sets `to` to a vector of length 1 for each eigenvalue. Together, the vectors span what the
    /// eigenvectors span; those of nearly equal eigenvalues are not orthogonal.
    ///
    /// @return Done or Cancelled
    Outcome vectorsOf(const std::vector<double>& eigenvalues, const Kernels& kernels, TiledRows& to,
                      const Control& control);

  private:
    void reflect(std::size_t column, std::vector<double>& numbers, double* reflector);
    /// product = A·vector, for unreduced rows and columns, from `first` on.
    void multiply(const double* vector, std::size_t first, double* product);
    /// Subtracts VWᵀ + WVᵀ from the rows and columns of A from `first` on; `panel` has V and W. @return Done
    /// or Cancelled
    Outcome update(const Kernels& kernels, const std::vector<double>& panel, std::size_t first,
                   const Control& control);
    /// Replaces x by the solution of (T − eigenvalue) y = x.
    void solve(double eigenvalue, double least, std::vector<double>& x);
    /// z ← Qz. @return Done or Cancelled
    Outcome turn(const Kernels& kernels, TiledRows& z, const Control& control);

    Definite& a_;
    std::size_t size_;
    std::vector<double> diagonal_, beside_;  ///< diagonals of T; beside_[i] is in row i and column i + 1
    std::vector<double> factors_;            ///< factors of reflectors I − factor · vvᵀ
    std::vector<double> pivots_, above_, beyond_;
};

}  // namespace layerloom
