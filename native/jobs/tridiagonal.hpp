#pragma once
#include <vector>

#include "definite.hpp"

namespace layerloom {

/// A symmetric matrix A = QTQᵀ in Householder's tridiagonal form, of which leading eigenvalues and a basis of what
/// belongs to them are found; not the other eigenvectors, nor orthogonal ones. Square roots and divisions are the only
/// functions: the same bits on every machine.
class Tridiagonal {
  public:
    /// @param a of finite numbers; its lower half is replaced by the reflectors, and has to outlive this
    explicit Tridiagonal(Definite& a) : a_(a), size_(a.size()), diagonal_(size_), beside_(size_), factors_(size_) {}

    /// To be called first. @return Done or Cancelled
    Outcome reduce(const Kernels& kernels, const Control& control);

    /// Eigenvalues, the `count` largest ones, largest first, each exact to some 1e-16 of the largest.
    std::vector<double> leading(std::size_t count) const;

    /// Sets `to`, of as many rows as A has, to a vector for each of these eigenvalues. They are of length 1, and span what
    /// the eigenvectors span; those of eigenvalues that are nearly the same are not orthogonal.
    ///
    /// @return Done or Cancelled
    Outcome vectorsOf(const std::vector<double>& eigenvalues, const Kernels& kernels, TiledRows& to,
                      const Control& control);

  private:
    void reflect(std::size_t column, std::vector<double>& numbers, double* reflector);
    /// product = A · vector, of rows and columns from `first` on, of what is left to reduce.
    void multiply(const double* vector, std::size_t first, double* product);
    /// Subtracts VWᵀ + WVᵀ from rows and columns from `first` on. @return Done or Cancelled
    Outcome update(const Kernels& kernels, const std::vector<double>& panel, std::size_t first,
                   const Control& control);
    /// Solves (T − eigenvalue) x = x.
    void solve(double eigenvalue, double least, std::vector<double>& x);
    /// z ← Qz. @return Done or Cancelled
    Outcome turn(const Kernels& kernels, TiledRows& z, const Control& control);

    Definite& a_;
    std::size_t size_;
    std::vector<double> diagonal_, beside_;  ///< of T; beside_[i] in row i and column i + 1
    std::vector<double> factors_;            ///< of reflectors I − factor · vvᵀ
    std::vector<double> pivots_, above_, beyond_;
};

}  // namespace layerloom
