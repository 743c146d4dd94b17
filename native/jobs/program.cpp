#include "program.hpp"

#include <algorithm>

namespace layerloom {

std::uint64_t wordsBelow(double probability) {
    return static_cast<std::uint64_t>(std::clamp(probability, 0.0, 1.0) * 4294967296.0);
}

std::optional<Draw> Drop::draw() const {
    const std::uint64_t below = wordsBelow(probability);
    if (below == 0) return {};
    return Draw{key, static_cast<std::uint32_t>(below - 1)};
}

bool takesBits(const NodeOperation& operation) {
    return std::holds_alternative<Select>(operation) || std::holds_alternative<Assemble>(operation) ||
           std::holds_alternative<FillRows>(operation);
}

bool takesWhole(const NodeOperation& operation) {
    return std::holds_alternative<Product>(operation) || std::holds_alternative<CombineRows>(operation) ||
           std::holds_alternative<Dequantise>(operation) || std::holds_alternative<Unpack>(operation);
}

DType Program::dtypeOf(ValueId value) const {
    return value < sources.size() ? sources[value].dtype : nodes[value - sources.size()].dtype;
}

bool Program::isWhole(ValueId value) const {
    return value < sources.size() && sources[value].slicing == Slicing::Whole;
}

std::uint64_t Program::rowsTogether() const {
    std::uint64_t rows = 0;
    for (const Node& node : nodes) {
        if (std::holds_alternative<DropRanked>(node.operation) || std::holds_alternative<Turned>(node.operation))
            rows = std::max<std::uint64_t>(rows, 1);
        // All blocks of a program have this height, or 1.
        if (const auto* quantise = std::get_if<Quantise>(&node.operation))
            rows = std::max(rows, quantise->blockRows);
    }
    return rows;
}

std::uint64_t Program::bytesRead(std::uint64_t begin, std::uint64_t elements) const {
    std::uint64_t bytes = 0;
    for (const StoredSource& source : sources) bytes += layerloom::bytesRead(source, first + begin, elements);
    return bytes;
}

std::vector<Range> Program::windows() const {
    std::vector<Range> ranges;
    for (const StoredSource& source : sources) ranges.push_back(windowOf(source, first, count));
    return ranges;
}

}  // namespace layerloom
