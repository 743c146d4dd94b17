#pragma once
#include <cstddef>
#include <vector>

#include "tiled_rows.hpp"

namespace layerloom {

/// The changes Δ₁ … Δ_T of a matrix by tasks, merged by their singular vectors (Gargiulo et al. 2025, TSV-Merge): of each Δ
/// the floor(columns / T) leading triples are kept, and Σ Uᵢ Σᵢ Vᵢᵀ is taken with [U₁ … U_T] and [V₁ … V_T] replaced by
/// their polar factors.
///
/// No singular value decomposition is computed: with any orthonormal bases Bᵢ and Wᵢ of the leading singular subspaces the
/// sum is that of Pᵢ · BᵢᵀΔᵢWᵢ · Rᵢᵀ, for the polar factors P of [B₁ … B_T] and R of [W₁ … W_T].
class TaskVectors {
  public:
    /// @param columns of a change, no more than rows
    TaskVectors(const Kernels& kernels, const Control& control, std::size_t tasks, std::size_t rows,
                std::size_t columns)
        : kernels_(kernels), control_(control), tasks_(tasks), rows_(rows), columns_(columns) {}

    /// Takes the change of a task. Directions with a singular value of at most 2⁻¹⁶ of the largest one are not kept.
    /// @return Done or Cancelled
    Outcome add(TiledRows change);

    /// Sets `sum` to the merged change. To be called once. @return Done or Cancelled
    Outcome merge(TiledRows& sum);

    /// False where a change is no matrix of finite numbers: nothing may be merged then.
    bool isFinite() const { return isFinite_; }

  private:
    struct Task {
        TiledRows left, right, inner;  ///< Bᵢ, Wᵢ and BᵢᵀΔᵢWᵢ
    };

    /// Sets `joined` to the polar factor of all tasks' bases, side by side, which are gone then.
    Outcome join(TiledRows Task::* side, std::size_t rows, TiledRows& joined);
    /// Sets `stretched` to BᵢᵀΔᵢWᵢRᵢᵀ, one below the other.
    Outcome stretch(TiledRows& stretched);

    const Kernels& kernels_;
    const Control& control_;
    std::size_t tasks_, rows_, columns_, count_ = 0;  ///< of directions that are kept
    std::vector<Task> kept_;
    bool isFinite_ = true;
};

}  // namespace layerloom
