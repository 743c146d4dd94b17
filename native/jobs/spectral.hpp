#pragma once
#include <vector>

#include "program.hpp"
#include "status.hpp"

namespace layerloom {

/// Matrices X₁ … Xₙ of one shape and their base X₀, to be merged by the singular value decomposition UΣVᵀ of the sum of
/// their changes, Δ = Σ(Xᵢ − X₀): X₀ + scale · σ̄ · UVᵀ, σ̄ the mean of all min(rows, columns) singular values (Marczak et
/// al. 2025, Iso-C). UVᵀ is the polar factor of Δ, and no decomposition is computed.
struct Spectral {
    Program program;
    ValueId base;
    std::vector<ValueId> sources;
    double scale;
    DType dtype;  ///< of the result
    Location to;
};

/// Merges on the calling thread, in float64, rounded once. The polar factor is found by four rounds of the iteration of
/// Nakatsukasa, Bai and Gygi (2010): each singular value σ of Δ becomes f(σ), which is 1 to 4e-8 where σ is above 4e-9 of
/// √‖ΔᵀΔ‖, and falls to 0 with σ below, so that a direction in which nothing changed stays as it is; σ̄ is the mean of
/// σ·f(σ). Where Δ is 0 the result is X₀. Every sum has an order of its own (docs/numbers.md): equal bits on every
/// instruction set. Private memory is about 8 · rows · columns and 4 · min(rows, columns)² bytes. Each source byte is
/// read twice, and those of the base three times.
///
/// @return a source that is not finite makes all elements NaN
Status mergeSpectra(const Kernels& kernels, const Spectral& what, Control control);

}  // namespace layerloom
