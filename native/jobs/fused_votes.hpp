#pragma once
#include <optional>
#include <span>
#include <vector>

#include "program.hpp"

namespace layerloom {

/// A vote whose changes are differences of values from its base, pruned by their own magnitude or not at all:
/// one kernel computes it of these values.
struct FusedVote {
    struct Term {
        ValueId source;
        Keep keep;  ///< keeps all where the change is not pruned
    };
    std::vector<Term> terms;
};

/// Votes of a program that one kernel computes, and nodes that are not computed: no value that is wanted
/// needs them.
struct FusedVotes {
    std::vector<std::optional<FusedVote>> votes;  ///< [node]
    std::vector<bool> isSkipped;                  ///< [node]

    /// Fuses nothing, and skips nothing.
    explicit FusedVotes(const Program& program);
    /// @param wanted values that are asked for; all others need not be there
    FusedVotes(const Kernels& kernels, const Program& program, std::span<const ValueId> wanted);
};

}  // namespace layerloom
