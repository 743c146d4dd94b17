#pragma once
#include <cstddef>
#include <vector>

#include "tiled_rows.hpp"

namespace layerloom {

/// Merges the changes Δ₁ … Δ_T of a matrix (Gargiulo et al. 2025, TSV-Merge). Keeps the floor(columns / T)
/// leading singular triples of each change, and computes Σ Uᵢ Σᵢ Vᵢᵀ with [U₁ … U_T] and [V₁ … V_T] replaced
/// by their polar factors.
///
/// Needs no singular value decomposition. Let Bᵢ and Wᵢ be orthonormal bases of the leading singular
/// subspaces, and P and R the polar factors of [B₁ … B_T] and [W₁ … W_T]. Then the result is the sum of Pᵢ ·
/// BᵢᵀΔᵢWᵢ·Rᵢᵀ.
class TaskVectors {
  public:
    /// @param columns number of columns of a change, at most that of its rows
    TaskVectors(const Kernels& kernels, const Control& control, std::size_t tasks, std::size_t rows,
                std::size_t columns)
        : kernels_(kernels), control_(control), tasks_(tasks), rows_(rows), columns_(columns) {}

    /// Adds a change. Drops directions with singular values up to 2⁻¹⁶ of the largest.
    ///
    /// @return Done or Cancelled
    Outcome add(TiledRows change);

    /// Merges the changes. Call it once. @return Done or Cancelled
    Outcome merge(TiledRows& sum);

    /// False if a change is not finite; then do not call `merge`.
    bool isFinite() const { return isFinite_; }

  private:
    struct Task {
        TiledRows left, right, inner;  ///< Bᵢ, Wᵢ and BᵢᵀΔᵢWᵢ
    };

    /// Sets `joined` to the polar factor of all bases, side by side, and frees the bases.
    Outcome join(TiledRows Task::* side, std::size_t rows, TiledRows& joined);
    /// Sets `stretched` to the matrices BᵢᵀΔᵢWᵢRᵢᵀ, one below the other.
    Outcome stretch(TiledRows& stretched);

    const Kernels& kernels_;
    const Control& control_;
    std::size_t tasks_, rows_, columns_, count_ = 0;  ///< count_: number of directions kept
    std::vector<Task> kept_;
    bool isFinite_ = true;
};

}  // namespace layerloom
