#pragma once
#include <span>

#include "program.hpp"
#include "status.hpp"

namespace layerloom {

/// Approximates a matrix Δ [rows, columns] by left·right: its truncated singular value decomposition with
/// √σ in both factors.
struct Factorisation {
    Program program;
    ValueId value;
    std::uint64_t rank;  ///< maximum, from 1 to the smaller dimension
    /// Uses the smallest rank that keeps this share of ‖Δ‖²_F; with 1, `rank`.
    double share;
    std::uint64_t key;  ///< selects the random numbers of the sketch
    /// Writes left as [rank, rows], and right as [columns, rank].
    bool transposed;
    DType dtype;  ///< dtype of the factors: BF16, F16 or F32
    Location left, right;

    void check() const;
    /// Size of the result: the numbers of `FactorNumber`, then `rank` singular values, the largest first.
    std::size_t size() const;
    /// Factorises by a randomised range finder (Halko, Martinsson and Tropp 2011). V spans (ΔᵀΔ)³ times 1.5 ·
    /// `rank` random columns, orthonormalised in between; or the rows of a wide matrix, if these are no more.
    /// The result is the decomposition of ΔV. Each source byte is read at most five times. Besides tiles,
    /// private memory is about (1.5·rows + 5·columns)·1.5·rank float32. Bits are equal on every
    /// instruction set.
    Status solve(const Kernels& kernels, std::span<double> out, Control control) const;
};

/// Numbers that come before the singular values.
enum class FactorNumber : std::uint8_t {
    Rank,       ///< of the written factors; 0 if Δ is 0 or not finite
    Squares,    ///< ‖Δ‖²_F
    Error,      ///< ‖Δ − left · right‖²_F for the rounded factors
    NonFinite,  ///< number of NaN and infinite elements in Δ; if any, nothing else is computed
};
inline constexpr std::size_t kFactorNumbers = 4;

}  // namespace layerloom
