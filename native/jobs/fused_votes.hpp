#pragma once
#include <optional>
#include <span>
#include <vector>

#include "program.hpp"

namespace layerloom {

/// A vote over differences from its base, each pruned by its own magnitude or not at all, which a single
/// kernel computes.
struct FusedVote {
    struct Term {
        ValueId source;
        Keep keep;  ///< keeps everything if the change is not pruned
    };
    std::vector<Term> terms;
};

/// Fused votes, and nodes that no wanted value needs.
struct FusedVotes {
    std::vector<std::optional<FusedVote>> votes;  ///< [node]
    std::vector<bool> isSkipped;                  ///< [node]

    /// Fuses and skips nothing.
    explicit FusedVotes(const Program& program);
    /// @param wanted other values may be skipped
    FusedVotes(const Kernels& kernels, const Program& program, std::span<const ValueId> wanted);
};

}  // namespace layerloom
