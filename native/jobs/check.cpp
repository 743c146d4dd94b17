#include "check.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace layerloom {
namespace {

void require(bool holds, const char* what) {
    if (!holds) throw BadJob(what);
}

constexpr std::size_t kMany = std::numeric_limits<std::size_t>::max();

/// Each source is a mapping, and a process has some tens of thousands of these for all of its threads.
constexpr std::size_t kMostSources = 4096;
constexpr std::size_t kMostValues = 4096;
/// Of the changes that a vote combines.
constexpr std::size_t kMostChanges = 64;
/// Bytes of an element of the widest dtype.
constexpr std::uint64_t kMostWidth = 8;
/// Sorted rows are indexed by 32 bits.
constexpr std::uint64_t kMostRanks = std::uint64_t{1} << 32;

/// What a number of a node or a measure may be. What is used as an integer or an index is one.
struct NumberRange {
    double least, most;
    bool isInteger = true, mayBeNan = false;

    bool has(double x) const {
        if (x != x) return mayBeNan;
        return x >= least && x <= most && (!isInteger || x == std::floor(x));
    }
};

constexpr double kMostWord = std::numeric_limits<std::uint32_t>::max();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kMostFinite = std::numeric_limits<double>::max();

/// As arithmetic has them.
constexpr NumberRange kAny{-kInfinity, kInfinity, false, true};
constexpr NumberRange kFinite{-kMostFinite, kMostFinite, false};
constexpr NumberRange kFlag{0, 1};
constexpr NumberRange kSense{0, kRowSenses - 1};
constexpr NumberRange kDivisor{0, kDivisors - 1};
constexpr NumberRange kWord{0, kMostWord};
constexpr NumberRange kIndex{0, static_cast<double>(kMostInteger)};
constexpr NumberRange kOrdinal{1, static_cast<double>(kMostInteger)};
constexpr NumberRange kMagnitude{0, 0x7FFF'FFFF};

constexpr NumberRange kSenseNumber[] = {kSense};
constexpr NumberRange kKeepNumbers[] = {kWord, kIndex, kFlag, kWord, kIndex, kFlag, kAny};
constexpr NumberRange kDropNumbers[] = {kWord, kWord, kFinite, kAny};
constexpr NumberRange kDropRankedNumbers[] = {kWord, kWord, kFinite, kFinite, kAny};
constexpr NumberRange kVoteNumbers[] = {kFlag, kFlag, kFlag, kDivisor, kAny, kAny};
constexpr NumberRange kNearSwapNumber[] = {kAny};

/// How many inputs a kind of node has, and its numbers: these, then a weight of each input but the first
/// ones.
struct NodeShape {
    std::size_t least, most;
    std::span<const NumberRange> numbers;
    std::size_t unweighted;
};

/// In the order of NodeKind.
constexpr NodeShape kNodeShapes[kNodeKinds] = {
    {1, kMany, {}, 0},           {1, kMany, kSenseNumber, kMany},   {2, 2, kKeepNumbers, kMany},
    {1, 1, kDropNumbers, kMany}, {1, 1, kDropRankedNumbers, kMany}, {2, 1 + kMostChanges, kVoteNumbers, 1},
    {1, kMany, {}, kMany},       {2, 2, kNearSwapNumber, kMany},    {2, 2, {}, kMany},
    {2, 2, kSenseNumber, kMany},
};

constexpr NumberRange kWindowNumbers[] = {kMagnitude, kMagnitude, {0, 31}, kWord, kWord, kWord, kWord};
static_assert(std::size(kWindowNumbers) == 3 + kCandidates);
constexpr NumberRange kTieNumber[] = {kWord};
constexpr NumberRange kFindTieNumbers[] = {kWord, kOrdinal};

/// Of how many values a kind of measure is, and the numbers of each.
struct MeasureShape {
    std::size_t least, most;
    std::span<const NumberRange> numbers;
};

/// In the order of MeasureKind.
constexpr MeasureShape kMeasureShapes[kMeasureKinds] = {
    {1, kMostValues, {}},
    {1, kMostValues, {}},
    {1, kMostValues, {}},
    {1, kMostValues, {}},
    {1, kMostValues, kWindowNumbers},
    {1, kMostValues, kTieNumber},
    {1, 1, kFindTieNumbers},
    {2, 2, {}},
    {1, kMostValues, {}},
};

/// `count` elements of the range's dtype.
void checkRange(const Range& range, std::uint64_t count, const char* what) {
    require(range.offset <= kMostInteger - checkedLength(count, sizeOf(range.dtype), what), what);
}

void checkSources(std::span<const Range> sources, std::uint64_t count) {
    require(!sources.empty() && sources.size() <= kMostSources, "sources");
    for (const Range& source : sources) checkRange(source, count, "sources");
}

/// Whether a node's table has a number for each row (and input) that the slice touches.
bool coversTable(const Node& node, const Program& program) {
    const bool byRows = node.kind == NodeKind::RowLinear || node.kind == NodeKind::Select;
    if (!byRows && node.kind != NodeKind::Importance) return true;
    const std::size_t each = node.kind == NodeKind::RowLinear ? node.inputs.size() : 1;
    if (byRows && node.numbers[0] == static_cast<double>(RowSense::Input))
        return node.table.size() >= checkedLength(program.columns, each, "table");
    const std::uint64_t end = (program.first + program.count + program.columns - 1) / program.columns;
    return node.tableRow <= program.first / program.columns &&
           node.table.size() >= checkedLength(end - node.tableRow, each, "table");
}

/// @param known how many values stand before the node
void checkNode(const Node& node, const Program& program, std::size_t known) {
    const NodeShape& shape = kNodeShapes[static_cast<std::size_t>(node.kind)];
    const std::size_t inputs = node.inputs.size(), fixed = shape.numbers.size();
    require(inputs >= shape.least && inputs <= shape.most, "inputs");
    require(std::ranges::all_of(node.inputs, [&](std::uint32_t id) { return id < known; }), "inputs");
    const std::size_t weights = inputs > shape.unweighted ? inputs - shape.unweighted : 0;
    require(node.numbers.size() == fixed + weights, "numbers");
    for (std::size_t i = 0; i < fixed; ++i) require(shape.numbers[i].has(node.numbers[i]), "numbers");
    require(coversTable(node, program), "table");
    // Its inputs' bits are taken as they are.
    if (node.kind == NodeKind::Select)
        for (const std::uint32_t id : node.inputs) require(program.dtypeOf(id) == node.dtype, "dtype");
}

void checkProgram(const Program& program) {
    require(program.columns > 0, "columns");
    require(program.first <= kMostInteger - program.count, "first");
    checkSources(program.sources, program.count);
    for (std::size_t n = 0; n < program.nodes.size(); ++n)
        checkNode(program.nodes[n], program, program.sources.size() + n);
    if (!program.needsRows()) return;
    require(program.columns <= kMostRanks, "columns");
    require(program.first % program.columns == 0 && program.count % program.columns == 0, "program");
}

void checkOutputs(const Job& job) {
    const std::size_t sources = job.program.sources.size(), nodes = job.program.nodes.size();
    std::vector<bool> isWritten(nodes);
    for (const auto& [value, to] : job.outputs) {
        require(value < sources + nodes, "value");
        require(to.dtype == job.program.dtypeOf(value), "dtype");
        checkRange(to, job.count, "to");
        if (value < sources) continue;
        // A node goes to one place.
        require(!isWritten[value - sources], "outputs");
        isWritten[value - sources] = true;
    }
    require(!job.outputs.empty(), "outputs");
}

void checkSelection(const Job& job) {
    const Selection& selection = job.selection;
    require(selection.columns > 0, "columns");
    require(selection.width > 0 && selection.width <= kMostWidth, "width");
    require(selection.first <= kMostInteger - job.count, "first");
    const std::uint64_t rowBytes = checkedLength(selection.columns, selection.width, "columns");
    const std::uint64_t rows = (selection.first + job.count + rowBytes - 1) / rowBytes;
    require(selection.sense == RowSense::Input ? selection.kept.size() == selection.columns
                                               : selection.kept.size() >= rows,
            "kept");
}

/// Whether every magnitude of a window has a bin, and every candidate lies in it.
bool fitsBins(std::span<const double> window, double bins) {
    constexpr double none = kMostWord;
    const double low = window[0], last = window[1], shift = window[2];
    if (low < 1 || last < low - 1 || std::floor((last - low) / std::exp2(shift)) >= bins) return false;
    bool ended = false;
    for (const double candidate : window.subspan(3)) {
        // A gap among the candidates would be counted as one.
        if (candidate != none && (ended || candidate < low || candidate > last)) return false;
        ended = candidate == none;
    }
    return true;
}

}  // namespace

std::uint64_t checkedLength(std::uint64_t count, std::uint64_t width, const char* what) {
    require(width == 0 || count <= kMostInteger / width, what);
    return count * width;
}

void check(const Job& job) {
    if (job.kind == JobKind::Compute) {
        checkProgram(job.program);
        return checkOutputs(job);
    }
    // `count` is of bytes here, which are at most as many as the elements that are asked for.
    checkSources(job.sources, job.count);
    checkRange(job.output, job.count, "output");
    if (job.kind == JobKind::Copy) require(job.sources.size() == 1, "sources");
    if (job.kind != JobKind::Select) return;
    require(job.sources.size() == 2, "sources");
    checkSelection(job);
}

void check(const Reduction& reduction, const Sums& sums) {
    const std::size_t sources = reduction.sources.size(), experts = sources - 1;
    require(sources >= 2, "sources");
    require(reduction.columns > 0, "columns");
    checkSources(reduction.sources, checkedLength(reduction.rows, reduction.columns, "rows"));
    const std::uint64_t each = reduction.sense == RowSense::Input ? reduction.columns : reduction.rows;
    require(sums.magnitudes.size() == checkedLength(each, experts, "magnitudes"), "magnitudes");
    require(sums.pairs.empty() || sums.pairs.size() == experts * sources / 2 * 3, "pairs");
    require(sums.nonFinite.size() == sources, "nonFinite");
}

void check(const Measure& what, std::size_t numbers, std::size_t counts) {
    const Program& program = what.program;
    checkProgram(program);
    require(program.first % program.columns == 0 && program.count % program.columns == 0, "program");

    const MeasureShape& shape = kMeasureShapes[static_cast<std::size_t>(what.kind)];
    const std::size_t values = what.values.size(), each = shape.numbers.size();
    const std::size_t known = program.sources.size() + program.nodes.size();
    require(values >= shape.least && values <= shape.most, "values");
    require(std::ranges::all_of(what.values, [&](std::uint32_t id) { return id < known; }), "values");
    require(what.numbers.size() == each * values, "numbers");
    for (std::size_t i = 0; i < what.numbers.size(); ++i)
        require(shape.numbers[i % each].has(what.numbers[i]), "numbers");

    checkedLength(std::max(program.count, program.columns), values * (values + 1) / 2, "values");
    require(numbers == measureSize(what), "out");
    const bool isHistogram = what.kind == MeasureKind::Histogram;
    require(counts == (isHistogram ? values * what.bins : 0), "counts");
    if (!isHistogram) return;
    for (std::size_t at = 0; at < what.numbers.size(); at += each)
        require(fitsBins({what.numbers.data() + at, each}, what.bins), "numbers");
}

}  // namespace layerloom
