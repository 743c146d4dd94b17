#include "check.hpp"

#include <algorithm>

namespace layerloom {
namespace {

void checkJob(const Copy& copy) {
    checkElements(copy.source, 1, copy.first, copy.count, "source");
    checkElements(copy.to, 1, copy.first, copy.count, "to");
}

void checkJob(const Same& same) {
    require(!same.sources.empty() && same.sources.size() <= kMostSources, "sources");
    for (const Location& source : same.sources) checkElements(source, 1, same.first, same.count, "sources");
    checkElements(same.to, 1, same.first, same.count, "to");
}

/// Checks that scales are contiguous and not more than the elements.
void checkScales(ValueId value, const Location& to, DType dtype, const Program& program) {
    require(value >= program.sources.size(), "value");
    const NodeOperation& operation = program.nodes[value - program.sources.size()].operation;
    require(std::holds_alternative<Quantise>(operation) && dtype == DType::F32, "scales");
    checkElements(to, sizeof(float), program.first, program.count, "to");
}

void checkJob(const Compute& compute) {
    const Program& program = compute.program;
    check(program);
    const std::size_t sources = program.sources.size();
    std::vector<bool> isWritten(program.nodes.size());
    for (const auto& [value, to, dtype, scales] : compute.outputs) {
        require(value < sources + program.nodes.size(), "value");
        if (scales) {
            checkScales(value, to, dtype, program);
            continue;
        }
        require(dtype == program.dtypeOf(value), "dtype");
        // A source can be written unchanged only if it is sliced by elements.
        require(value >= sources || program.sources[value].slicing == Slicing::Elements, "value");
        checkElements(to, sizeOf(dtype), program.first, program.count, "to");
        if (value < sources) continue;
        require(!isWritten[value - sources], "outputs");
        isWritten[value - sources] = true;
    }
    require(!compute.outputs.empty(), "outputs");
    if (compute.tally.empty()) return;
    // The tally counts one vote, which must be the program's last node.
    require(!program.nodes.empty(), "tally");
    const Node& last = program.nodes.back();
    require(std::holds_alternative<Vote>(last.operation), "tally");
    require(compute.tally.size() == tallyWords(last.inputs.size() - 1), "tally");
    const auto isVote = [](const Node& node) { return std::holds_alternative<Vote>(node.operation); };
    require(std::ranges::count_if(program.nodes, isVote) == 1, "tally");
}

}  // namespace

void require(bool holds, const char* what) {
    if (!holds) throw BadJob(what);
}

std::uint64_t checkedLength(std::uint64_t count, std::uint64_t width, const char* what) {
    require(width == 0 || count <= kMostInteger / width, what);
    return count * width;
}

void checkElements(const Location& at, std::size_t width, std::uint64_t first, std::uint64_t count,
                   const char* what) {
    require(first <= kMostInteger - count, "first");
    require(at.begin <= kMostInteger - checkedLength(first + count, width, what), what);
}

void check(const Job& job) {
    std::visit([](const auto& one) { checkJob(one); }, job);
}

void checkMatrices(const Program& program, const std::vector<ValueId>& values, const char* what) {
    check(program);
    require(program.first == 0 && program.count > 0 && program.count % program.columns == 0, what);
    for (const ValueId value : values)
        require(value < program.sources.size() + program.nodes.size() && !program.isWhole(value), what);
}

}  // namespace layerloom
