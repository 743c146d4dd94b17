#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "program.hpp"
#include "status.hpp"

namespace layerloom {

/// Matrices W of one shape [outputs, inputs], and for each the Gram matrix G [inputs, inputs] of what it is
/// multiplied with, to be merged into the matrix whose products are nearest to theirs: (Σ sWG̃)(Σ sG̃ + εI)⁻¹, G̃ with
/// its elements off the diagonal times `scaling` (Jin et al. 2023, RegMean). ε is `ridge` times the mean of the diagonal
/// of Σ sG̃; it pulls towards the mean Σ sW.
struct Regression {
    Program matrices;
    std::vector<ValueId> values;  ///< the matrix of each model, in order
    Program grams;
    std::vector<ValueId> of;     ///< the Gram matrix of each model
    std::vector<double> shares;  ///< s of each model; they sum up to 1
    double scaling, ridge;
    DType dtype;  ///< of the result
    Location to;
};

/// Numbers that are found where there is no solution that would mean anything.
enum class RegressionNumber : std::uint8_t {
    Column,    ///< the input, from 1 on, at which that shows; 0 where the matrix was written
    Diagonal,  ///< what the diagonal of the system has there
    /// The Gram matrix that is not symmetric, from 1 on, of which `Column` is a row; 0: all are.
    Asymmetric,
};
inline constexpr std::size_t kRegressionNumbers = 3;

/// Merges on the calling thread, in float64: W₀ + (Σ s(W − W₀)G̃ + …)(Σ sG̃ + εI)⁻¹ of the first matrix W₀, rounded once.
/// Every sum has an order of its own (docs/numbers.md): equal bits on every instruction set. Private memory is about
/// 4 · inputs² bytes, and 13,000 · inputs for two models. Gram matrices are read once, and again for every 512 rows.
///
/// @param out kRegressionNumbers zeros
/// @return sources are counted over both programs, as are values in what is not finite, which is of the first alone; a
///         cause behind all of them is the result
Status regress(const Kernels& kernels, const Regression& what, std::span<double> out, Control control);

}  // namespace layerloom
