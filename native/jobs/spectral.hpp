#pragma once
#include <vector>

#include "program.hpp"
#include "status.hpp"

namespace layerloom {

/// What is done with the changes Δᵢ = Xᵢ − X₀ of a matrix.
enum class SpectralRule : std::uint8_t {
    /// By the singular value decomposition UΣVᵀ of Σ Δᵢ: σ̄ · UVᵀ, σ̄ the mean of all min(rows, columns) singular values
    /// (Marczak et al. 2025, Iso-C). UVᵀ is the polar factor (polar.hpp); σ̄ is the mean of σ·f(σ). A direction in which
    /// nothing changed stays as it is.
    IsoC,
    /// TSV-Merge (task_vectors.hpp).
    TsvM,
};

/// Matrices X₁ … Xₙ of one shape and their base X₀, to be merged by singular values: X₀ + scale · what the rule gives.
struct Spectral {
    SpectralRule rule;
    Program program;
    ValueId base;
    std::vector<ValueId> sources;
    double scale;
    DType dtype;  ///< of the result
    Location to;
};

/// Merges on the calling thread, in float64, rounded once. Every sum has an order of its own (docs/numbers.md): equal bits on
/// every instruction set. With m the larger extent and n the smaller, private memory is about 8mn + 4n² bytes by IsoC,
/// 16mn + 12n² by TsvM. Each source byte is read at most twice, and those of the base three times, or once for each source and
/// once more by TsvM.
///
/// @return a source that is not finite makes all elements NaN
Status mergeSpectra(const Kernels& kernels, const Spectral& what, Control control);

}  // namespace layerloom
