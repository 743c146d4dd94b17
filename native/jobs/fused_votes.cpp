#include "fused_votes.hpp"

#include <limits>

namespace layerloom {
namespace {

constexpr Keep kKeepAll{{0, std::numeric_limits<std::uint64_t>::max(), true}, {0xFFFF'FFFFu, 0, true}, 1};

/// Returns a float32 value's node if it has this operation; otherwise null.
template <class Operation>
const Node* nodeOf(const Program& program, ValueId id) {
    if (id < program.sources.size()) return nullptr;
    const Node& node = program.nodes[id - program.sources.size()];
    return node.dtype == DType::F32 && std::holds_alternative<Operation>(node.operation) ? &node : nullptr;
}

/// Returns a vote's change as a pruned difference from the vote's base; nothing if it is no such difference
/// in the vote's dtype.
std::optional<FusedVote::Term> termOf(const Program& program, const Node& vote, ValueId change) {
    Keep keep = kKeepAll;
    std::optional<Draw> draw;
    if (const Node* kept = nodeOf<Keep>(program, change)) {
        if (kept->inputs[0] != kept->inputs[1]) return {};
        keep = std::get<Keep>(kept->operation);
        change = kept->inputs[0];
    } else if (const Node* dropped = nodeOf<Drop>(program, change)) {
        const auto& drop = std::get<Drop>(dropped->operation);
        draw = drop.draw();
        if (!draw) return {};
        keep.scale = drop.scale;
        change = dropped->inputs[0];
    }
    const Node* difference = nodeOf<Linear>(program, change);
    if (difference == nullptr || difference->inputs.size() != 2) return {};
    const auto& weights = std::get<Linear>(difference->operation).weights;
    const ValueId source = difference->inputs[0], base = difference->inputs[1];
    if (weights[0] != 1 || weights[1] != -1 || base != vote.inputs[0]) return {};
    if (program.dtypeOf(source) != vote.dtype || program.dtypeOf(base) != vote.dtype) return {};
    return FusedVote::Term{source, keep, draw};
}

std::optional<FusedVote> fusedVote(const Kernels& kernels, const Program& program, const Node& vote) {
    if (kernels.consensus[static_cast<std::size_t>(vote.dtype)] == nullptr) return {};
    FusedVote fused;
    for (std::size_t i = 1; i < vote.inputs.size(); ++i) {
        const auto term = termOf(program, vote, vote.inputs[i]);
        if (!term) return {};
        fused.terms.push_back(*term);
    }
    return fused;
}

}  // namespace

FusedVotes::FusedVotes(const Program& program)
    : votes(program.nodes.size()), isSkipped(program.nodes.size()) {}

FusedVotes::FusedVotes(const Kernels& kernels, const Program& program, std::span<const ValueId> wanted)
    : FusedVotes(program) {
    const std::size_t sources = program.sources.size();
    std::vector<bool> isNeeded(sources + program.nodes.size());
    for (const ValueId id : wanted) isNeeded[id] = true;
    // Goes backwards, because inputs come before their nodes.
    for (std::size_t n = program.nodes.size(); n-- > 0;) {
        const Node& node = program.nodes[n];
        isSkipped[n] = !isNeeded[sources + n];
        if (isSkipped[n]) continue;
        if (std::holds_alternative<Vote>(node.operation)) votes[n] = fusedVote(kernels, program, node);
        if (votes[n]) {
            isNeeded[node.inputs[0]] = true;
            for (const FusedVote::Term& term : votes[n]->terms) isNeeded[term.source] = true;
        } else {
            for (const ValueId id : node.inputs) isNeeded[id] = true;
        }
    }
}

}  // namespace layerloom
