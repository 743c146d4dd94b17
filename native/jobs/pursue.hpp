#pragma once
#include <span>

#include "program.hpp"
#include "status.hpp"

namespace layerloom {

/// Approximates rows by sums of a few rows of another matrix. Each program has a single source.
struct Pursuit {
    Program atoms;    ///< all rows that sums may use
    Program targets;  ///< some of the rows to approximate
    std::uint64_t k;  ///< maximum number of rows in a sum; at most the number of atoms

    void check() const;
    /// Returns the size of the result: `numbersOf(k)` numbers for each target.
    std::size_t size() const;
    /// Approximates targets by orthogonal matching pursuit (Pati, Rezaiifar and Krishnaprasad 1993). Chooses
    /// the atom whose product with the residual has the largest magnitude (the first if tied), and solves for
    /// all coefficients again by least squares. Stops early if the residual is 0, or if the next atom depends
    /// on earlier ones.
    ///
    /// Reads the atoms k times, in tiles. Private memory is about targets·(3·columns + k²)·4 bytes, and
    /// a tile. Bits are equal on every instruction set, however targets are divided between calls.
    Status solve(const Kernels& kernels, std::span<double> out, Control control) const;
};

/// Numbers of a target, before k indexes of atoms and k coefficients.
enum class PursuitNumber : std::uint8_t {
    Chosen,   ///< number of chosen atoms, whose indexes and coefficients follow in the order of choice
    Squares,  ///< ‖target‖²
    Error,    ///< ‖target − sum‖²
};
inline constexpr std::size_t kPursuitNumbers = 3;

constexpr std::size_t numbersOf(std::size_t k) { return kPursuitNumbers + 2 * k; }

}  // namespace layerloom
