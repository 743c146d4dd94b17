#pragma once
#include <span>
#include <vector>

#include "program.hpp"
#include "status.hpp"

namespace layerloom {

/// How the changes Δᵢ = Xᵢ − X₀ of a matrix are merged.
enum class SpectralRule : std::uint8_t {
    /// σ̄·UVᵀ, where UΣVᵀ is the singular value decomposition of Σ Δᵢ, and σ̄ the mean of its min(rows,
    /// columns) singular values (Marczak et al. 2025, Iso-C). UVᵀ is the polar factor (polar.hpp), σ̄ the
    /// mean of σ·f(σ). Directions without change stay.
    IsoC,
    /// TSV-Merge (task_vectors.hpp).
    TsvM,
};

/// Merges matrices X₁ … Xₙ into their base X₀, as X₀ + scale · the rule's result.
struct Spectral {
    SpectralRule rule;
    Program program;
    ValueId base;
    std::vector<ValueId> sources;
    double scale;
    DType dtype;  ///< of the result
    Location to;

    void check() const;
    std::size_t size() const;
    /// Merges in float64, rounded once. Bits are equal on every instruction set (docs/numbers.md). With the
    /// larger dimension m and the smaller n, private memory is about 8mn + 4n² bytes for IsoC, and 16mn +
    /// 12n² for TsvM. Each source byte is read at most twice. The base is read three times, or for TsvM once
    /// for each source and once more. NaN or infinity in a source makes all elements NaN.
    Status solve(const Kernels& kernels, std::span<double> out, Control control) const;
};

}  // namespace layerloom
