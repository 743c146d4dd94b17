#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "program.hpp"
#include "status.hpp"

namespace layerloom {

/// Merges matrices W [outputs, inputs], with Gram matrices G [inputs, inputs] of their inputs, into the
/// matrix with the nearest outputs: (Σ sWG̃)(Σ sG̃ + εI)⁻¹ (Jin et al. 2023, RegMean). G̃ is G with
/// off-diagonal elements times `scaling`. ε is `ridge` times the mean diagonal of Σ sG̃, and pulls the result
/// towards the mean Σ sW.
struct Regression {
    Program matrices;
    std::vector<ValueId> values;  ///< the matrix of each model, in order
    Program grams;
    std::vector<ValueId> of;     ///< the Gram matrix of each model
    std::vector<double> shares;  ///< s of each model; their sum is 1
    double scaling, ridge;
    DType dtype;  ///< of the result
    Location to;

    void check() const;
    std::size_t size() const;
    /// Computes RegMean as a correction of the first matrix W₀, in float64, rounded once:
    /// W₀ + Σ s(W − W₀)(G̃ + εI) · (Σ sG̃ + εI)⁻¹. Bits are equal on every instruction set
    /// (docs/numbers.md). Private memory is about 4·inputs² bytes, plus 13,000·inputs for two models. Gram
    /// matrices are read once, and again for every 512 rows.
    ///
    /// @return the status. Causes of NaN or infinity are numbered: sources of `matrices`, then of `grams`;
    ///   the number after both means the result
    Status solve(const Kernels& kernels, std::span<double> out, Control control) const;
};

/// Numbers of the result, which show matrices without a meaningful solution.
enum class RegressionNumber : std::uint8_t {
    Column,    ///< the first input, from 1, that shows this; 0 if the matrix was written
    Diagonal,  ///< the system's diagonal there
    /// Number, from 1, of the Gram matrix whose row `Column` is asymmetric; 0 if all are symmetric.
    Asymmetric,
};
inline constexpr std::size_t kRegressionNumbers = 3;

}  // namespace layerloom
