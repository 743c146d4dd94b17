#include "decode.hpp"

#include <algorithm>
#include <limits>

#include "read.hpp"

namespace layerloom {
namespace {

Range toRange(const Napi::Value& value) {
    const Napi::Object object = toObject(value, "range");
    return {toDescriptor(object.Get("fd")), readInteger(object, "offset"),
            readEnumeration<DType>(object, "dtype", kDTypes)};
}

std::vector<Range> readRanges(const Napi::Object& object, const char* key) {
    return readAll(readArray(object, key), toRange);
}

/// Copies: the memory may be the caller's to change, in another thread.
template <class Number>
std::vector<Number> toVector(const Napi::Value& value, const char* name) {
    const std::span<Number> numbers = toSpan<Number>(value, name);
    return {numbers.begin(), numbers.end()};
}

std::vector<std::uint32_t> readIds(const Napi::Object& object, const char* key) {
    return readAll(readArray(object, key), [key](const Napi::Value& id) {
        return static_cast<std::uint32_t>(toInteger(id, key, std::numeric_limits<std::uint32_t>::max()));
    });
}

Node toNode(const Napi::Value& value) {
    const Napi::Object object = toObject(value, "node");
    Node node;
    node.kind = readEnumeration<NodeKind>(object, "kind", kNodeKinds);
    node.dtype = readEnumeration<DType>(object, "dtype", kDTypes);
    node.inputs = readIds(object, "inputs");
    node.numbers = readAll(readArray(object, "numbers"),
                           [](const Napi::Value& number) { return toNumber(number, "numbers"); });
    const Napi::Value table = object.Get("table");
    if (table.IsUndefined()) return node;
    node.tableRow = readInteger(object, "tableRow");
    node.table = toVector<double>(table, "table");
    return node;
}

Program readProgram(const Napi::Object& object, std::vector<Range> sources, std::uint64_t count) {
    const Napi::Object from = readObject(object, "program");
    Program program;
    program.sources = std::move(sources);
    program.nodes = readAll(readArray(from, "nodes"), toNode);
    program.first = readInteger(from, "first");
    program.count = count;
    program.columns = readInteger(from, "columns");
    return program;
}

Output toOutput(const Napi::Value& value) {
    const Napi::Object object = toObject(value, "output");
    return {
        static_cast<std::uint32_t>(readInteger(object, "value", std::numeric_limits<std::uint32_t>::max())),
        toRange(object.Get("to"))};
}

Selection toSelection(const Napi::Object& object) {
    Selection selection;
    selection.columns = readInteger(object, "columns");
    selection.width = readInteger(object, "width");
    selection.first = readInteger(object, "first");
    selection.sense = readEnumeration<RowSense>(object, "sense", kRowSenses);
    selection.kept = toVector<std::uint8_t>(object.Get("kept"), "kept");
    return selection;
}

}  // namespace

Job toJob(const Napi::Value& value) {
    const Napi::Object object = toObject(value, "job");
    Job job;
    job.kind = readEnumeration<JobKind>(object, "kind", kJobKinds);
    job.sources = readRanges(object, "sources");
    job.count = readInteger(object, "count");
    if (job.kind == JobKind::Compute) {
        job.program = readProgram(object, job.sources, job.count);
        job.outputs = readAll(readArray(object, "outputs"), toOutput);
    } else {
        job.output = toRange(object.Get("output"));
        if (job.kind == JobKind::Select) job.selection = toSelection(readObject(object, "select"));
    }
    check(job);
    return job;
}

ReductionCall toReductionCall(const Napi::Value& reduction, const Napi::Value& sums) {
    const Napi::Object object = toObject(reduction, "reduction"), arrays = toObject(sums, "sums");
    ReductionCall call;
    call.reduction = {readRanges(object, "sources"), readInteger(object, "rows"),
                      readInteger(object, "columns"), readEnumeration<RowSense>(object, "sense", kRowSenses)};
    const Napi::Value magnitudes = arrays.Get("magnitudes"), pairs = arrays.Get("pairs"),
                      nonFinite = arrays.Get("nonFinite");
    call.sums = {toSpan<double>(magnitudes, "magnitudes"), toSpan<double>(pairs, "pairs"),
                 toSpan<double>(nonFinite, "nonFinite")};
    check(call.reduction, call.sums);
    for (const std::span<double> sum : {call.sums.magnitudes, call.sums.pairs, call.sums.nonFinite})
        std::ranges::fill(sum, 0);
    return call;
}

MeasureCall toMeasureCall(const Napi::Value& measure, const Napi::Value& out, const Napi::Value& counts) {
    const Napi::Object object = toObject(measure, "measurement");
    MeasureCall call;
    call.measure.kind = readEnumeration<MeasureKind>(object, "kind", kMeasureKinds);
    std::vector<Range> sources = readRanges(object, "sources");
    const std::uint64_t count = readInteger(object, "count");
    call.measure.program = readProgram(object, std::move(sources), count);
    call.measure.values = readIds(object, "values");
    call.measure.bins =
        static_cast<std::uint32_t>(readInteger(object, "bins", std::numeric_limits<std::uint32_t>::max()));
    call.measure.numbers = toVector<double>(object.Get("numbers"), "numbers");
    call.out = toSpan<double>(out, "out");
    call.counts = toSpan<std::uint32_t>(counts, "counts");
    check(call.measure, call.out.size(), call.counts.size());
    std::ranges::fill(call.out, 0);
    return call;
}

Control toControl(const Napi::Value& value) {
    const std::span<std::int64_t> words = toSpan<std::int64_t>(value, "control");
    if (words.size() != kControlWords) throw BadJob("control");
    return Control(words.data());
}

int toDescriptor(const Napi::Value& value) {
    return static_cast<int>(toInteger(value, "fd", std::numeric_limits<int>::max()));
}

}  // namespace layerloom
