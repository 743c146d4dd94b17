#pragma once
#include <optional>
#include <span>
#include <vector>

#include "program.hpp"

namespace layerloom {

/// A vote that one kernel computes, over differences from the base, each pruned by its own magnitude, by
/// chance, or not.
struct FusedVote {
    struct Term {
        ValueId source;
        Keep keep;  ///< keeps everything if the change is not pruned by magnitude
        std::optional<Draw> draw;
    };
    std::vector<Term> terms;
};

/// Fused votes, and the nodes that no wanted value needs.
struct FusedVotes {
    std::vector<std::optional<FusedVote>> votes;  ///< [node]
    std::vector<bool> isSkipped;                  ///< [node]

    /// Fuses no vote and skips no node.
    explicit FusedVotes(const Program& program);
    /// @param wanted values to compute; other values may be skipped
    FusedVotes(const Kernels& kernels, const Program& program, std::span<const ValueId> wanted);
};

}  // namespace layerloom
