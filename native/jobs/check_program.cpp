#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "check.hpp"

namespace layerloom {
namespace {

constexpr std::size_t kMany = std::numeric_limits<std::size_t>::max();
/// Maximum size of a row, because sorted rows have 32-bit indexes.
constexpr std::uint64_t kMostRanks = std::uint64_t{1} << 32;

void checkInputs(const Node& node, std::size_t least, std::size_t most = kMany) {
    require(node.inputs.size() >= least && node.inputs.size() <= most, "inputs");
}

void checkFinite(double number, const char* what) { require(std::isfinite(number), what); }

/// @param rows length of a list with `each` numbers per row
void checkRows(Rows sense, std::uint64_t rows, std::size_t each, const Program& program, const char* what) {
    if (sense == Rows::Input)
        require(rows == checkedLength(program.columns, each, what), what);
    else
        // Counts rows from the start of the tensor.
        require(rows >= checkedLength((program.first + program.count + program.columns - 1) / program.columns,
                                      each, what),
                what);
}

/// Checks that runs ascend, do not overlap, and lie within the slice.
template <class Run>
void checkRuns(const std::vector<Run>& runs, std::uint64_t width, const Program& program) {
    require(width >= 1, "width");
    const std::uint64_t end = (program.first + program.count + width - 1) / width;
    std::uint64_t next = 0;
    for (const Run& run : runs) {
        require(run.count >= 1 && run.to >= next && run.to < end && run.count <= end - run.to, "runs");
        next = run.to + run.count;
    }
}

void checkSource(const StoredSource& source, const Program& program) {
    if (source.slicing == Slicing::Elements)
        return checkElements(source.at, sizeOf(source.dtype), program.first, program.count, "sources");
    if (source.slicing == Slicing::Whole)
        return checkElements(source.at, sizeOf(source.dtype), 0, source.elements, "elements");
    checkRuns(source.runs, source.width, program);
    for (const RowRun& run : source.runs) {
        require(run.from <= kMostInteger - run.count, "runs");
        checkElements(source.at, sizeOf(source.dtype), 0,
                      checkedLength(run.from + run.count, source.width, "runs"), "runs");
    }
}

void check(const Linear& linear, const Node& node, const Program&) {
    checkInputs(node, 1);
    require(linear.weights.size() == node.inputs.size(), "weights");
}

void check(const RowLinear& linear, const Node& node, const Program& program) {
    checkInputs(node, 1);
    checkRows(linear.rows, linear.weights.size(), node.inputs.size(), program, "weights");
}

void check(const Keep&, const Node& node, const Program&) { checkInputs(node, 2, 2); }

void check(const Drop& drop, const Node& node, const Program&) {
    checkInputs(node, 1, 1);
    checkFinite(drop.probability, "probability");
}

void check(const DropRanked& drop, const Node& node, const Program& program) {
    checkInputs(node, 1, 1);
    checkFinite(drop.lowest, "lowest");
    checkFinite(drop.highest, "highest");
    checkFinite(drop.highest - drop.lowest, "highest");
    require(program.columns <= kMostRanks, "columns");
    require(program.first % program.columns == 0 && program.count % program.columns == 0, "program");
}

void check(const Random&, const Node& node, const Program&) { checkInputs(node, 0, 0); }

void check(const Vote& vote, const Node& node, const Program&) {
    checkInputs(node, 2, 1 + kMostChanges);
    require(vote.weights.size() == (node.inputs.size() - 1) * (vote.rule.each ? 2 : 1), "weights");
    require(!vote.rule.each || vote.rule.divisor == Divisor::Count, "divisor");
}

void check(const Variance&, const Node& node, const Program&) { checkInputs(node, 1); }

void check(const NearSwap&, const Node& node, const Program&) { checkInputs(node, 2, 2); }

void check(const Fisher& fisher, const Node& node, const Program&) {
    checkInputs(node, 2);
    require(fisher.weights.size() == node.inputs.size() - fisher.weights.size(), "weights");
}

void check(const Importance& importance, const Node& node, const Program& program) {
    checkInputs(node, 2, 2);
    checkRows(Rows::Output, importance.divergences.size(), 1, program, "divergences");
}

void check(const Select& select, const Node& node, const Program& program) {
    checkInputs(node, 2, 2);
    checkRows(select.rows, select.kept.size(), 1, program, "kept");
    // The operation copies its inputs' bits, so dtypes must be equal.
    for (const ValueId id : node.inputs) require(program.dtypeOf(id) == node.dtype, "dtype");
}

void check(const Assemble& assemble, const Node& node, const Program& program) {
    checkInputs(node, 1);
    checkRuns(assemble.runs, assemble.width, program);
    for (const InputRun& run : assemble.runs) require(run.input < node.inputs.size(), "runs");
    for (const ValueId id : node.inputs) require(program.dtypeOf(id) == node.dtype, "dtype");
}

void check(const FillRows& fill, const Node& node, const Program& program) {
    checkInputs(node, 1, 1);
    require(!fill.values.empty(), "values");
    checkedLength(fill.from, fill.values.size(), "from");
    require(program.dtypeOf(node.inputs[0]) == node.dtype, "dtype");
}

/// Checks that factors have all rows and columns up to the end of the slice.
void check(const Product& product, const Node& node, const Program& program) {
    checkInputs(node, 2, 2);
    require(product.rank >= 1, "rank");
    for (const ValueId id : node.inputs) require(program.isWhole(id), "inputs");
    const std::uint64_t a = program.sources[node.inputs[0]].elements;
    const std::uint64_t b = program.sources[node.inputs[1]].elements;
    require(product.experts >= 1, "experts");
    const std::uint64_t ranks = checkedLength(product.rank, product.experts, "experts");
    const auto [ofRows, ofColumns] = product.transposed ? std::pair(a, b) : std::pair(b, a);
    require(ofColumns == checkedLength(program.columns, ranks, "rank"), "columns");
    require(ofRows % ranks == 0, "rank");
    const std::uint64_t rows =
        program.first / program.columns +
        (program.first % program.columns + program.count + program.columns - 1) / program.columns;
    const std::uint64_t all = checkedLength(ofRows / ranks, product.experts, "experts");
    require(product.row <= all && rows <= all - product.row, "row");
}

std::uint64_t blocksOf(std::uint64_t elements, std::uint64_t of) {
    return elements / of + (elements % of == 0 ? 0 : 1);
}

void checkCodes(const Codes& codes, std::uint64_t matrices, std::uint64_t bytes) {
    using enum Codes::Order;
    require(codes.rows >= 1 && codes.columns >= 1 && codes.stride >= codes.columns, "rows");
    const bool isWide = codes.bits() == 8;
    require(!isWide || codes.order == Across || codes.order == Down, "order");
    require(codes.order != Down || codes.kind == Codes::Kind::I8 || codes.kind == Codes::Kind::U8 || !isWide,
            "order");
    // Each row consists of whole bytes or words.
    require(isWide || codes.order == Down || codes.stride % (codes.order == Interleaved ? 8 : 2) == 0,
            "stride");
    const std::uint64_t rows = checkedLength(
        matrices, codes.order == Down ? blocksOf(codes.rows, codes.inWord()) : codes.rows, "rows");
    const std::uint64_t inRow = codes.order == Down ? checkedLength(codes.stride, 4, "stride")
                                                    : blocksOf(codes.stride, 8 / codes.bits());
    require(bytes >= checkedLength(rows, inRow, "rows"), "elements");
}

/// Checks that codes and scales cover whole matrices, up to the end of the slice.
void check(const Dequantise& what, const Node& node, const Program& program) {
    using enum Dequantise::Scales;
    checkInputs(node, what.inputs(), what.inputs());
    require(what.codes.rows >= 1 && what.codes.columns >= 1, "rows");
    require(what.blockRows >= 1 && what.blockColumns >= 1, "block");
    for (const ValueId id : node.inputs) require(program.dtypeOf(id) != DType::F64, "dtype");
    std::size_t input = 0;
    const auto next = [&]() -> const StoredSource& { return program.sources[node.inputs[input++]]; };
    const auto nextBytes = [&] {
        const StoredSource& source = next();
        require(sizeOf(source.dtype) == 1, "dtype");
        return source.elements;
    };
    const std::uint64_t each = checkedLength(what.codes.rows, what.codes.columns, "rows");
    const std::uint64_t end = program.first + program.count;
    const std::uint64_t matrices = end / each + (end % each == 0 ? 0 : 1);
    checkCodes(what.codes, matrices, nextBytes());
    const StoredSource& scales = next();
    require(what.scales == Floats || sizeOf(scales.dtype) == 1, "dtype");
    const std::uint64_t down = blocksOf(what.codes.rows, what.blockRows);
    const std::uint64_t across = blocksOf(what.codes.columns, what.blockColumns);
    const std::uint64_t blocks = checkedLength(checkedLength(matrices, down, "block"), across, "block");
    require(scales.elements >= blocks, "elements");
    if (what.factor != Dequantise::Factor::None) require(next().elements >= 1, "elements");
    if (what.zeros) {
        const Codes& zeros = what.zeros->codes;
        require(zeros.rows == down && zeros.columns == across, "zeros");
        checkCodes(zeros, matrices, nextBytes());
        // Adding one to a code (`oneMore`) is defined only for U8 and U4.
        require(!what.zeros->oneMore || zeros.kind == Codes::Kind::U8 || zeros.kind == Codes::Kind::U4,
                "oneMore");
    }
    if (what.hasGroups)
        require(
            nextBytes() >= checkedLength(what.transposed ? what.codes.rows : what.codes.columns, 4, "groups"),
            "groups");
    require((what.scales == Nested) == what.nested.has_value(), "nested");
    if (what.nested) {
        require(what.nested->block >= 1, "block");
        require(next().elements >= 256, "elements");
        require(next().elements >= blocksOf(blocks, what.nested->block), "elements");
    }
    require(!what.transposed || program.columns == what.codes.rows, "columns");
}

void check(const CombineRows& combine, const Node& node, const Program& program) {
    checkInputs(node, 1, 1);
    require(combine.width >= 1, "width");
    const std::uint64_t rows = program.sources[node.inputs[0]].elements / combine.width;
    const std::uint64_t end = (program.first + program.count + combine.width - 1) / combine.width;
    require(combine.first == program.first / combine.width, "starts");
    require(combine.starts.size() == end - combine.first + 1 && combine.starts.front() == 0, "starts");
    for (std::size_t i = 1; i < combine.starts.size(); ++i)
        require(combine.starts[i - 1] <= combine.starts[i], "starts");
    require(combine.starts.back() == combine.terms.size(), "starts");
    for (const auto& [row, coefficient] : combine.terms) require(row < rows, "terms");
}

/// Checks that the file contains all rows of the slice's heads.
void check(const Unpack& what, const Node& node, const Program& program) {
    checkInputs(node, 1, 1);
    const StoredSource& bytes = program.sources[node.inputs[0]];
    require(sizeOf(bytes.dtype) == 1, "dtype");
    require(what.width >= 1 && what.width % what.block() == 0, "width");
    require(what.head % 2 == 0, "head");
    const std::uint64_t rows = blocksOf(program.first + program.count, what.width);
    const std::uint64_t whole =
        what.head == 0 ? rows : checkedLength(blocksOf(rows, what.head), what.head, "head");
    const std::uint64_t inRow = checkedLength(what.width / what.block(), what.blockBytes(), "width");
    require(bytes.elements >= checkedLength(whole, inRow, "width"), "elements");
}

/// Checks that the slice consists of whole rows of blocks, except at the end.
void check(const Quantise& what, const Node& node, const Program& program) {
    using enum Quantise::Scheme;
    checkInputs(node, 1, 1);
    require(what.rows >= 1, "rows");
    require(what.blockRows >= 1 && what.blockColumns >= 1, "block");
    const std::uint64_t together = checkedLength(what.blockRows, program.columns, "block");
    const std::uint64_t all = checkedLength(what.rows, program.columns, "rows");
    const std::uint64_t end = program.first + program.count;
    require(program.first % together == 0 && end <= all && (end % together == 0 || end == all), "program");
    require(!what.codes || ((what.scheme == Float8 || what.scheme == Int8) && sizeOf(node.dtype) == 1), "codes");
    require(what.codes || node.dtype == DType::F32, "dtype");
    require(what.largest >= 0, "largest");
    for (const Node& other : program.nodes)
        if (const auto* of = std::get_if<Quantise>(&other.operation))
            require(of->blockRows == what.blockRows, "block");
}

void check(const Factored& factored, const Node& node, const Program& program) {
    checkInputs(node, 0, 0);
    require(!factored.factors.empty() && factored.factors.size() <= 2, "factors");
    for (const auto& [rows, columns, rank, numbers] : factored.factors) {
        require(rows >= 1 && columns >= 1, "rows");
        const std::uint64_t length = rank == 0 ? checkedLength(rows, columns, "rows")
                                               : checkedLength(rows, rank, "rank") +
                                                     checkedLength(rank, columns, "rank");
        require(numbers.size() == length, "numbers");
    }
    const SmallMatrix &outer = factored.factors.front(), &inner = factored.factors.back();
    const bool isNested = factored.kronecker && factored.factors.size() == 2;
    require(isNested || (outer.rows == inner.rows && outer.columns == inner.columns), "factors");
    const std::uint64_t rows = isNested ? checkedLength(outer.rows, inner.rows, "rows") : outer.rows;
    const std::uint64_t columns = isNested ? checkedLength(outer.columns, inner.columns, "columns") : outer.columns;
    require(columns == program.columns, "columns");
    require(program.first + program.count <= checkedLength(rows, columns, "rows"), "rows");
}

void check(const Turned& turned, const Node& node, const Program& program) {
    checkInputs(node, 1, 1);
    require(program.first % program.columns == 0 && program.count % program.columns == 0, "program");
    const std::uint64_t block = turned.size == 0 ? program.columns : checkedLength(turned.size, turned.size, "size");
    require(!turned.numbers.empty() && turned.numbers.size() % block == 0, "numbers");
    if (turned.size != 0) require(program.columns % turned.size == 0, "size");
    if (turned.order.empty()) return;
    require(turned.order.size() == program.columns, "order");
    std::vector<bool> taken(turned.order.size());
    for (const double place : turned.order) {
        require(place >= 0 && place < static_cast<double>(taken.size()), "order");
        const auto at = static_cast<std::size_t>(place);
        require(static_cast<double>(at) == place && !taken[at], "order");
        taken[at] = true;
    }
}

/// @param known number of values that precede the node
void checkNode(const Node& node, const Program& program, std::size_t known) {
    const bool whole = takesWhole(node.operation);
    for (const ValueId id : node.inputs) require(id < known && whole == program.isWhole(id), "inputs");
    std::visit([&](const auto& operation) { check(operation, node, program); }, node.operation);
}

}  // namespace

void check(const Program& program) {
    require(program.columns > 0, "columns");
    require(program.sources.size() <= kMostSources, "sources");
    // Programs of random numbers have nodes, but no sources.
    require(!program.sources.empty() || !program.nodes.empty(), "sources");
    require(program.first <= kMostInteger - program.count, "first");
    for (const StoredSource& source : program.sources) checkSource(source, program);
    for (std::size_t n = 0; n < program.nodes.size(); ++n)
        checkNode(program.nodes[n], program, program.sources.size() + n);
    for (const ValueId id : program.watched)
        require(id < program.sources.size() + program.nodes.size() && !program.isWhole(id), "watched");
}

}  // namespace layerloom
