#pragma once
#include <span>

#include "program.hpp"
#include "status.hpp"

namespace layerloom {

/// A value of a program over a whole matrix, Δ [rows, columns], to be approximated by left · right of low rank:
/// a truncated singular value decomposition, √σ on both sides.
struct Factorisation {
    Program program;
    ValueId value;
    std::uint64_t rank;  ///< at most; 1 to the smaller extent
    /// Of ‖Δ‖²_F: the smallest rank that keeps it, where one up to `rank` does. 1: `rank`.
    double share;
    std::uint64_t key;  ///< selects the random numbers of the sketch
    /// The factors are written transposed: left as [rank, rows], right as [columns, rank].
    bool transposed;
    DType dtype;  ///< of the factors: BF16, F16 or F32
    Location left, right;
};

/// Numbers that are found, before the singular values.
enum class FactorNumber : std::uint8_t {
    Rank,       ///< of the factors that were written; 0 where Δ is 0 or not finite
    Squares,    ///< ‖Δ‖²_F
    Error,      ///< ‖Δ − left · right‖²_F, of the factors as rounded
    NonFinite,  ///< elements of Δ that are no finite numbers; where there are some, nothing else is found
};
inline constexpr std::size_t kFactorNumbers = 4;

/// Factorises a matrix on the calling thread by a randomised range finder (Halko, Martinsson and Tropp 2011):
/// V spans (ΔᵀΔ)³ of random columns, half as many more than `rank`, made orthonormal between; the decomposition
/// is that of ΔV. Of a wide matrix V spans its rows where these are no more columns. Each source byte is read five
/// times at most. The matrix is looked at in tiles: private memory is about (1.5 · rows + 5 · columns) · 1.5 · rank
/// float32, and those tiles. Equal bits on every instruction set.
///
/// @param out kFactorNumbers + `rank` zeros: the numbers above, then singular values, largest first
Status factorise(const Kernels& kernels, const Factorisation& what, std::span<double> out, Control control);

}  // namespace layerloom
