#include <algorithm>

#include "decode.hpp"

namespace layerloom {
namespace {

/// Copies the numbers, because another thread may change the memory.
template <class Number>
std::vector<Number> readVector(const Napi::Object& object, const char* key) {
    const std::span<Number> numbers = toSpan<Number>(object.Get(key), key);
    return {numbers.begin(), numbers.end()};
}

struct Slice {
    std::uint64_t first, count;
};

/// Reads the runs that overlap a slice, as triples: first row, content, number of rows. Binary search limits
/// the cost to the slice's rows. Copies the runs, because threads share the memory.
///
/// @param advances true if the content's number increases along a run
template <class Run>
std::vector<Run> readRuns(const Napi::Object& object, std::uint64_t width, const Slice& slice,
                          bool advances) {
    const std::span<const double> numbers = toSpan<double>(object.Get("runs"), "runs");
    require(width >= 1, "width");
    require(numbers.size() % 3 == 0, "runs");
    const auto numberAt = [&](std::size_t index) {
        const double number = numbers[index];
        require(number >= 0 && number <= static_cast<double>(kMostInteger), "runs");
        return static_cast<std::uint64_t>(number);
    };
    const auto runAt = [&](std::size_t r) -> Run {
        return {numberAt(3 * r), numberAt(3 * r + 1), numberAt(3 * r + 2)};
    };
    const std::uint64_t begin = slice.first / width, end = (slice.first + slice.count + width - 1) / width;
    std::size_t low = 0, high = numbers.size() / 3;
    while (low < high) {
        const std::size_t middle = low + (high - low) / 2;
        const Run run = runAt(middle);
        run.to + run.count <= begin ? low = middle + 1 : high = middle;
    }
    std::vector<Run> runs;
    for (; low < numbers.size() / 3; ++low) {
        auto [to, what, count] = runAt(low);
        if (std::max(to, begin) >= end) break;
        // Refuses unsorted runs early, before they fill the memory.
        require(
            count >= 1 && to + count > begin && (runs.empty() || to >= runs.back().to + runs.back().count),
            "runs");
        const std::uint64_t cut = to < begin ? begin - to : 0;
        runs.push_back({to + cut, advances ? what + cut : what, std::min(count - cut, end - to - cut)});
    }
    return runs;
}

/// Copies the terms, because threads share the memory.
void readTerms(const Napi::Object& object, CombineRows& combine, const Slice& slice) {
    const std::span<const double> starts = toSpan<double>(object.Get("starts"), "starts");
    const std::span<const double> terms = toSpan<double>(object.Get("terms"), "terms");
    require(combine.width >= 1, "width");
    require(terms.size() % 2 == 0, "terms");
    combine.first = slice.first / combine.width;
    const std::uint64_t end = (slice.first + slice.count + combine.width - 1) / combine.width;
    require(end < starts.size(), "starts");
    const auto integer = [](double number, double most, const char* what) {
        require(number >= 0 && number <= most, what);
        return static_cast<std::uint64_t>(number);
    };
    const auto most = static_cast<double>(terms.size() / 2);
    const std::uint64_t begin = integer(starts[combine.first], most, "starts");
    for (std::uint64_t row = combine.first; row <= end; ++row) {
        const std::uint64_t start = integer(starts[row], most, "starts");
        require(start >= begin, "starts");
        combine.starts.push_back(start - begin);
    }
    for (std::uint64_t term = begin; term < begin + combine.starts.back(); ++term)
        combine.terms.push_back(
            {integer(terms[2 * term], static_cast<double>(kMostInteger), "terms"), terms[2 * term + 1]});
}

float readFloat(const Napi::Object& object, const char* key) {
    return static_cast<float>(readNumber(object, key));
}

Bound readBound(const Napi::Object& object, const char* key) {
    const Napi::Object bound = readObject(object, key);
    return {toWord32(bound.Get("bits"), "bits"), readInteger(bound, "cutoff"), readBoolean(bound, "early")};
}

VoteRule readVoteRule(const Napi::Object& object) {
    constexpr const char* ties[] = {"negative", "positive"};
    constexpr const char* divisors[] = {"none", "weights", "count"};
    VoteRule rule{false,
                  false,
                  false,
                  readName<Divisor>(object, "divisor", divisors),
                  readFloat(object, "least"),
                  readFloat(object, "scale")};
    const Napi::Value value = object.Get("election");
    if (value.IsNull()) return rule;
    rule.elects = true;
    if (value.IsString()) {
        constexpr const char* names[] = {"each"};
        readName<std::size_t>(object, "election", names);
        rule.each = true;
        return rule;
    }
    const Napi::Object election = toObject(value, "election");
    rule.weighted = readBoolean(election, "weighted");
    rule.tiePositive = readName<std::size_t>(election, "tie", ties) == 1;
    return rule;
}

Codes readCodes(const Napi::Object& object) {
    constexpr const char* kinds[] = {"F8_E4M3", "F8_E5M2", "I8", "U8", "E2M1", "U4", "NF4", "FP4"};
    constexpr const char* orders[] = {"across", "swapped", "interleaved", "down"};
    return {readName<Codes::Kind>(object, "codes", kinds), readName<Codes::Order>(object, "order", orders),
            readInteger(object, "rows"), readInteger(object, "width"), readInteger(object, "stride")};
}

std::optional<Dequantise::ZeroPoints> readZeroPoints(const Napi::Object& object) {
    if (object.Get("zeros").IsNull()) return std::nullopt;
    const Napi::Object zeros = readObject(object, "zeros");
    return Dequantise::ZeroPoints{readCodes(zeros), readBoolean(zeros, "oneMore")};
}

std::optional<Dequantise::NestedScales> readNestedScales(const Napi::Object& object) {
    if (object.Get("nested").IsNull()) return std::nullopt;
    const Napi::Object nested = readObject(object, "nested");
    return Dequantise::NestedScales{readInteger(nested, "block"), readFloat(nested, "offset")};
}

SmallMatrix readSmallMatrix(const Napi::Value& value) {
    const Napi::Object matrix = toObject(value, "factor");
    return {readInteger(matrix, "rows"), readInteger(matrix, "columns"), readInteger(matrix, "rank"),
            readVector<double>(matrix, "numbers")};
}

constexpr Reader<NodeOperation> kOperations[] = {
    {"linear",
     [](const Napi::Object& node) -> NodeOperation { return Linear{readNumbers<double>(node, "weights")}; }},
    {"rowLinear",
     [](const Napi::Object& node) -> NodeOperation {
         return RowLinear{readRows(node), readVector<double>(node, "weights")};
     }},
    {"keep",
     [](const Napi::Object& node) -> NodeOperation {
         return Keep{readBound(node, "lower"), readBound(node, "upper"), readFloat(node, "scale")};
     }},
    {"drop",
     [](const Napi::Object& node) -> NodeOperation {
         return Drop{readWord64(node, "key"), readNumber(node, "probability"), readFloat(node, "scale")};
     }},
    {"dropRanked",
     [](const Napi::Object& node) -> NodeOperation {
         return DropRanked{readWord64(node, "key"), readNumber(node, "lowest"), readNumber(node, "highest"),
                           readFloat(node, "scale")};
     }},
    {"random",
     [](const Napi::Object& node) -> NodeOperation {
         constexpr const char* distributions[] = {"normal", "uniform"};
         return Random{readWord64(node, "key"),
                       readName<Random::Distribution>(node, "distribution", distributions),
                       readFloat(node, "scale")};
     }},
    {"vote",
     [](const Napi::Object& node) -> NodeOperation {
         return Vote{readVoteRule(node), readNumbers<float>(node, "weights")};
     }},
    {"variance", [](const Napi::Object&) -> NodeOperation { return Variance{}; }},
    {"nearSwap", [](const Napi::Object& node) -> NodeOperation { return NearSwap{readFloat(node, "t")}; }},
    {"fisher",
     [](const Napi::Object& node) -> NodeOperation {
         return Fisher{readNumbers<float>(node, "weights"), readFloat(node, "eps")};
     }},
    {"importance",
     [](const Napi::Object& node) -> NodeOperation {
         return Importance{readVector<double>(node, "divergences")};
     }},
    {"select",
     [](const Napi::Object& node) -> NodeOperation {
         return Select{readRows(node), readVector<std::uint8_t>(node, "kept")};
     }},
    // `toNode` reads the runs later: they depend on the slice.
    {"assemble",
     [](const Napi::Object& node) -> NodeOperation {
         return Assemble{readInteger(node, "width"), {}};
     }},
    {"fillRows",
     [](const Napi::Object& node) -> NodeOperation {
         return FillRows{readInteger(node, "from"), readVector<double>(node, "values")};
     }},
    // `toNode` reads the terms later: they depend on the slice.
    {"combineRows",
     [](const Napi::Object& node) -> NodeOperation {
         return CombineRows{readInteger(node, "width"), 0, {}, {}};
     }},
    {"product",
     [](const Napi::Object& node) -> NodeOperation {
         return Product{readInteger(node, "rank"), readBoolean(node, "transposed"),
                        readInteger(node, "experts"), readInteger(node, "row"),
                        readBoolean(node, "grouped")};
     }},
    {"dequantise",
     [](const Napi::Object& node) -> NodeOperation {
         constexpr const char* scales[] = {"floats", "exponents", "nested"};
         constexpr const char* factors[] = {"none", "times", "divisor"};
         return Dequantise{readCodes(node),
                           readName<Dequantise::Scales>(node, "scales", scales),
                           readName<Dequantise::Factor>(node, "factor", factors),
                           readInteger(node, "blockRows"),
                           readInteger(node, "blockColumns"),
                           readBoolean(node, "transposed"),
                           readZeroPoints(node),
                           readBoolean(node, "groups"),
                           readNestedScales(node),
                           readFloat(node, "after")};
     }},
    {"unpack",
     [](const Napi::Object& node) -> NodeOperation {
         constexpr const char* types[] = {"F32",  "F16",  "BF16", "Q4_0", "Q4_1", "Q5_0",
                                          "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K"};
         return Unpack{readName<Unpack::Type>(node, "type", types), readInteger(node, "width"),
                       readInteger(node, "head"), readFloat(node, "plus")};
     }},
    {"factored",
     [](const Napi::Object& node) -> NodeOperation {
         return Factored{readBoolean(node, "kronecker"), readAll(readArray(node, "factors"), readSmallMatrix)};
     }},
    {"turned",
     [](const Napi::Object& node) -> NodeOperation {
         return Turned{readInteger(node, "size"), readVector<double>(node, "numbers"),
                       readVector<double>(node, "order")};
     }},
    {"quantise",
     [](const Napi::Object& node) -> NodeOperation {
         constexpr const char* schemes[] = {"float8", "int8", "int4", "mxfp4", "nvfp4"};
         return Quantise{readName<Quantise::Scheme>(node, "scheme", schemes),
                         readBoolean(node, "codes"),
                         readInteger(node, "rows"),
                         readInteger(node, "blockRows"),
                         readInteger(node, "blockColumns"),
                         readFloat(node, "largest")};
     }},
};

Node toNode(const Napi::Value& value, const Slice& slice) {
    const Napi::Object object = toObject(value, "node");
    Node node{readKind(object, kOperations), readDType(object), readValues(object, "inputs")};
    if (auto* assemble = std::get_if<Assemble>(&node.operation))
        assemble->runs = readRuns<InputRun>(object, assemble->width, slice, false);
    if (auto* combine = std::get_if<CombineRows>(&node.operation)) readTerms(object, *combine, slice);
    return node;
}

StoredSource toSource(const Napi::Value& value, const Slice& slice) {
    constexpr const char* slicings[] = {"elements", "rows", "whole"};
    const Napi::Object object = toObject(value, "source");
    StoredSource source{
        toLocation(value), readDType(object), readName<Slicing>(object, "slicing", slicings), 1, {}};
    if (source.slicing == Slicing::Whole) source.elements = readInteger(object, "elements");
    if (source.slicing != Slicing::Rows) return source;
    source.width = readInteger(object, "width");
    source.runs = readRuns<RowRun>(object, source.width, slice, true);
    return source;
}

}  // namespace

Program toProgram(const Napi::Value& value) {
    const Napi::Object object = toObject(value, "program");
    const Slice slice{readInteger(object, "first"), readInteger(object, "count")};
    const auto source = [&](const Napi::Value& one) { return toSource(one, slice); };
    const auto node = [&](const Napi::Value& one) { return toNode(one, slice); };
    return {readAll(readArray(object, "sources"), source),
            readAll(readArray(object, "nodes"), node),
            slice.first,
            slice.count,
            readInteger(object, "columns"),
            readValues(object, "watched"),
            readFlag(object, "scattered") ? Access::Scattered : Access::Sequential};
}

}  // namespace layerloom
