#pragma once
#include <span>

#include "program.hpp"
#include "status.hpp"

namespace layerloom {

/// Rows to be approximated by sums of few rows of another matrix. Both programs are of one source each, and
/// of rows of `columns` elements.
struct Pursuit {
    Program atoms;    ///< all rows that sums may be of
    Program targets;  ///< some of the rows to approximate
    std::uint64_t k;  ///< rows of a sum, at most; no more than there are atoms
};

/// Numbers that are found of a target, before k indices of atoms and k coefficients.
enum class PursuitNumber : std::uint8_t {
    Chosen,   ///< atoms of its sum: as many indices and coefficients follow, in the order of choice
    Squares,  ///< ‖target‖²
    Error,    ///< ‖target − sum‖²
};
inline constexpr std::size_t kPursuitNumbers = 3;

/// Numbers that are found of a target.
constexpr std::size_t numbersOf(std::size_t k) { return kPursuitNumbers + 2 * k; }

/// Approximates targets on the calling thread by orthogonal matching pursuit (Pati, Rezaiifar and
/// Krishnaprasad 1993): the atom whose product with what is left of the target is largest in magnitude is
/// chosen, the first of equal ones; then the coefficients of all that are chosen are those of least squares.
/// Atoms are taken as they are, not divided by their lengths. A target has fewer atoms where nothing is left,
/// or where the next one depends on those before it.
///
/// The atoms are looked at k times, in tiles; private memory is about targets · (3 · columns + k²) · 4 bytes,
/// and a tile. Equal bits on every instruction set, however targets are divided between calls.
///
/// @param out `numbersOf(k)` zeros for each target
Status pursue(const Kernels& kernels, const Pursuit& what, std::span<double> out, Control control);

}  // namespace layerloom
