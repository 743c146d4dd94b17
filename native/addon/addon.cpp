// N-API only: arguments in, status out. What the functions do is in jobs/ and io/; their TypeScript side is
// src/native/addon.ts, the only caller, whose types are trusted here.
#include <napi.h>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <string>
#include <system_error>

#include "../io/staging.hpp"
#include "../jobs/job.hpp"
#include "../jobs/measure.hpp"
#include "../jobs/reduction.hpp"
#include "../kernels/dispatch.hpp"

namespace layerloom {
namespace {

/// Round-to-nearest and subnormals while a job runs: another addon built with -ffast-math may have switched
/// its thread to flush them, and the bits would differ.
class FloatingPointDefaults {
  public:
    FloatingPointDefaults() {
        std::fegetenv(&former_);
        std::fesetenv(FE_DFL_ENV);
    }
    ~FloatingPointDefaults() { std::fesetenv(&former_); }
    FloatingPointDefaults(const FloatingPointDefaults&) = delete;
    FloatingPointDefaults& operator=(const FloatingPointDefaults&) = delete;

  private:
    std::fenv_t former_;
};

std::int64_t integer(const Napi::Object& object, const char* key) {
    return object.Get(key).As<Napi::Number>().Int64Value();
}

/// An enumeration's number, which tables are indexed by.
template <class Enumeration>
Enumeration toEnumeration(const Napi::Object& object, const char* key, std::int64_t count) {
    const std::int64_t number = integer(object, key);
    if (number < 0 || number >= count) throw Napi::RangeError::New(object.Env(), key);
    return static_cast<Enumeration>(number);
}

Range toRange(const Napi::Object& object) {
    return {static_cast<int>(integer(object, "fd")), static_cast<std::uint64_t>(integer(object, "offset")),
            toEnumeration<DType>(object, "dtype", kDTypes)};
}

std::vector<Range> toRanges(const Napi::Array& array) {
    std::vector<Range> ranges;
    for (std::uint32_t i = 0; i < array.Length(); ++i)
        ranges.push_back(toRange(array.Get(i).As<Napi::Object>()));
    return ranges;
}

/// Checked here once: the job then indexes `kept` by the slice's rows and columns.
Selection toSelection(const Napi::Object& object, const Job& job) {
    auto kept = object.Get("kept").As<Napi::Uint8Array>();
    Selection selection{{},
                        static_cast<std::uint64_t>(integer(object, "columns")),
                        static_cast<std::uint64_t>(integer(object, "width")),
                        static_cast<std::uint64_t>(integer(object, "first")),
                        toEnumeration<RowSense>(object, "sense", kRowSenses)};
    selection.kept.assign(kept.Data(), kept.Data() + kept.ElementLength());
    const std::uint64_t rowBytes = selection.columns * selection.width;
    const bool fits =
        job.sources.size() == 2 && rowBytes > 0 &&
        (selection.sense == RowSense::Input
             ? selection.kept.size() == selection.columns
             : selection.kept.size() >= (selection.first + job.count + rowBytes - 1) / rowBytes);
    if (!fits) throw Napi::RangeError::New(object.Env(), "select");
    return selection;
}

/// Numbers of a Float64Array, which may stand in memory that threads share.
std::vector<double> toDoubles(const Napi::Value& value) {
    const auto array = value.As<Napi::Float64Array>();
    return {array.Data(), array.Data() + array.ElementLength()};
}

std::vector<std::uint32_t> toIds(const Napi::Array& array, std::size_t values) {
    std::vector<std::uint32_t> ids;
    for (std::uint32_t i = 0; i < array.Length(); ++i) {
        ids.push_back(array.Get(i).As<Napi::Number>().Uint32Value());
        if (ids.back() >= values) throw Napi::RangeError::New(array.Env(), "inputs");
    }
    return ids;
}

/// How many numbers a kind of node takes beside what its inputs add, and how many inputs it has at least.
struct NodeShape {
    std::size_t inputs, numbers, numbersPerInput;
};

constexpr NodeShape kNodeShapes[kNodeKinds] = {{1, 0, 1}, {1, 1, 0}, {2, 7, 0}, {1, 4, 0}, {1, 5, 0},
                                               {2, 6, 1}, {1, 0, 0}, {2, 1, 0}, {2, 0, 0}, {2, 1, 0}};

/// Whether a node's table has a number for each row (and input) that the slice touches.
bool coversTable(const Node& node, const Program& program) {
    const bool byRows = node.kind == NodeKind::RowLinear || node.kind == NodeKind::Select;
    if (!byRows && node.kind != NodeKind::Importance) return true;
    const std::size_t each = node.kind == NodeKind::RowLinear ? node.inputs.size() : 1;
    if (byRows && node.numbers[0] == static_cast<double>(RowSense::Input))
        return node.table.size() >= program.columns * each;
    const std::uint64_t last = (program.first + program.count + program.columns - 1) / program.columns;
    return node.tableRow <= program.first / program.columns &&
           node.table.size() >= (last - node.tableRow) * each;
}

/// Checked here once: evaluation then indexes by what it is told.
Node toNode(const Napi::Object& object, const Program& program) {
    Node node;
    node.kind = toEnumeration<NodeKind>(object, "kind", kNodeKinds);
    node.dtype = toEnumeration<DType>(object, "dtype", kDTypes);
    node.inputs =
        toIds(object.Get("inputs").As<Napi::Array>(), program.sources.size() + program.nodes.size());
    const auto numbers = object.Get("numbers").As<Napi::Array>();
    for (std::uint32_t i = 0; i < numbers.Length(); ++i)
        node.numbers.push_back(numbers.Get(i).As<Napi::Number>().DoubleValue());
    if (object.Has("table")) {
        node.table = toDoubles(object.Get("table"));
        node.tableRow = static_cast<std::uint64_t>(integer(object, "tableRow"));
    }
    const auto [inputs, fixed, each] = kNodeShapes[static_cast<std::size_t>(node.kind)];
    // The first input of Vote is the base, which has no weight.
    const std::size_t weighted = node.kind == NodeKind::Vote ? node.inputs.size() - 1 : node.inputs.size();
    const bool fits = node.inputs.size() >= inputs && node.numbers.size() == fixed + each * weighted &&
                      coversTable(node, program);
    if (!fits || (node.kind == NodeKind::Vote &&
                  (node.numbers[3] < 0 || node.numbers[3] >= kDivisors || weighted > 64)))
        throw Napi::RangeError::New(object.Env(), "nodes");
    return node;
}

Program toProgram(const Napi::Object& object, std::vector<Range> sources, std::uint64_t count) {
    Program program;
    program.sources = std::move(sources);
    program.first = static_cast<std::uint64_t>(integer(object, "first"));
    program.count = count;
    program.columns = static_cast<std::uint64_t>(integer(object, "columns"));
    if (program.columns == 0) throw Napi::RangeError::New(object.Env(), "columns");
    const auto nodes = object.Get("nodes").As<Napi::Array>();
    for (std::uint32_t i = 0; i < nodes.Length(); ++i)
        program.nodes.push_back(toNode(nodes.Get(i).As<Napi::Object>(), program));
    const bool cutsRows = program.first % program.columns != 0 || program.count % program.columns != 0;
    if (program.sources.empty() || (program.needsRows() && cutsRows))
        throw Napi::RangeError::New(object.Env(), "program");
    return program;
}

std::vector<Output> toOutputs(const Napi::Array& array, const Program& program) {
    const std::size_t sources = program.sources.size();
    std::vector<Output> outputs;
    for (std::uint32_t i = 0; i < array.Length(); ++i) {
        const auto object = array.Get(i).As<Napi::Object>();
        const Output output{object.Get("value").As<Napi::Number>().Uint32Value(),
                            toRange(object.Get("to").As<Napi::Object>())};
        if (output.value >= sources + program.nodes.size()) throw Napi::RangeError::New(array.Env(), "value");
        const DType dtype = output.value < sources ? program.sources[output.value].dtype
                                                   : program.nodes[output.value - sources].dtype;
        // A node goes to one place.
        const auto isTwin = [&](const Output& other) {
            return output.value >= sources && other.value == output.value;
        };
        if (dtype != output.to.dtype || std::ranges::any_of(outputs, isTwin))
            throw Napi::RangeError::New(array.Env(), "outputs");
        outputs.push_back(output);
    }
    if (outputs.empty()) throw Napi::RangeError::New(array.Env(), "outputs");
    return outputs;
}

Job toJob(const Napi::Object& object) {
    Job job;
    job.kind = toEnumeration<JobKind>(object, "kind", kJobKinds);
    job.sources = toRanges(object.Get("sources").As<Napi::Array>());
    job.count = static_cast<std::uint64_t>(integer(object, "count"));
    if (job.sources.empty()) throw Napi::RangeError::New(object.Env(), "sources");
    if (job.kind == JobKind::Compute) {
        job.program = toProgram(object.Get("program").As<Napi::Object>(), job.sources, job.count);
        job.outputs = toOutputs(object.Get("outputs").As<Napi::Array>(), job.program);
        return job;
    }
    job.output = toRange(object.Get("output").As<Napi::Object>());
    if (job.kind == JobKind::Select)
        job.selection = toSelection(object.Get("select").As<Napi::Object>(), job);
    return job;
}

std::string describe(int error) { return std::generic_category().message(error); }

Napi::Object toObject(Napi::Env env, const Status& status) {
    auto result = Napi::Object::New(env);
    result.Set("outcome", static_cast<double>(status.outcome));
    result.Set("source", static_cast<double>(status.source));
    result.Set("error", status.error);
    result.Set("message", status.error == 0 ? std::string() : describe(status.error));
    return result;
}

/// execute(job, control: BigInt64Array over shared memory) → { outcome, source, error, message }
Napi::Value execute(const Napi::CallbackInfo& info) {
    const Job job = toJob(info[0].As<Napi::Object>());
    const Control control(info[1].As<Napi::BigInt64Array>().Data());
    const FloatingPointDefaults defaults;
    return toObject(info.Env(), run(*kernels(), job, control));
}

Reduction toReduction(const Napi::Object& object) {
    return {toRanges(object.Get("sources").As<Napi::Array>()),
            static_cast<std::uint64_t>(integer(object, "rows")),
            static_cast<std::uint64_t>(integer(object, "columns")),
            toEnumeration<RowSense>(object, "sense", kRowSenses)};
}

std::span<double> toSpan(const Napi::Object& object, const char* key) {
    auto array = object.Get(key).As<Napi::Float64Array>();
    return {array.Data(), array.ElementLength()};
}

/// reduce(reduction, { magnitudes, pairs, nonFinite: Float64Array of zeros }, control) → as execute
Napi::Value reduceRows(const Napi::CallbackInfo& info) {
    const Reduction reduction = toReduction(info[0].As<Napi::Object>());
    const auto arrays = info[1].As<Napi::Object>();
    const Sums sums{toSpan(arrays, "magnitudes"), toSpan(arrays, "pairs"), toSpan(arrays, "nonFinite")};
    const std::size_t sources = reduction.sources.size(), experts = sources - 1;
    const std::uint64_t each = reduction.sense == RowSense::Input ? reduction.columns : reduction.rows;
    const bool fits = sources >= 2 && reduction.columns > 0 && sums.magnitudes.size() == experts * each &&
                      (sums.pairs.empty() || sums.pairs.size() == experts * sources / 2 * 3) &&
                      sums.nonFinite.size() == sources;
    if (!fits) throw Napi::RangeError::New(info.Env(), "sums");
    const Control control(info[2].As<Napi::BigInt64Array>().Data());
    const FloatingPointDefaults defaults;
    return toObject(info.Env(), reduce(*kernels(), reduction, sums, control));
}

/// Whether every magnitude of a histogram's windows has a bin.
bool fitsBins(const Measure& what) {
    constexpr std::size_t each = 3 + kCandidates;
    for (std::size_t at = 0; at < what.numbers.size(); at += each) {
        const double low = what.numbers[at], last = what.numbers[at + 1], shift = what.numbers[at + 2];
        if (!(low >= 1 && last >= low - 1 && last < 2147483648.0 && shift >= 0 && shift < 32)) return false;
        if (std::floor((last - low) / std::exp2(shift)) >= what.bins) return false;
        for (std::size_t c = 3; c < each; ++c) {
            const double candidate = what.numbers[at + c];
            if (candidate != 4294967295.0 && !(candidate >= low && candidate <= last)) return false;
        }
    }
    return true;
}

/// measure({ kind, sources, program, count, values, numbers, bins }, out: Float64Array of zeros,
/// counts: Uint32Array that threads share, control) → as execute
Napi::Value measureBlock(const Napi::CallbackInfo& info) {
    const auto object = info[0].As<Napi::Object>();
    Measure what;
    what.kind = toEnumeration<MeasureKind>(object, "kind", kMeasureKinds);
    what.program =
        toProgram(object.Get("program").As<Napi::Object>(), toRanges(object.Get("sources").As<Napi::Array>()),
                  static_cast<std::uint64_t>(integer(object, "count")));
    const std::size_t known = what.program.sources.size() + what.program.nodes.size();
    what.values = toIds(object.Get("values").As<Napi::Array>(), known);
    what.numbers = toDoubles(object.Get("numbers"));
    what.bins = static_cast<std::uint32_t>(integer(object, "bins"));
    auto out = info[1].As<Napi::Float64Array>();
    auto counts = info[2].As<Napi::Uint32Array>();
    const bool isHistogram = what.kind == MeasureKind::Histogram;
    const std::size_t values = what.values.size();
    const std::size_t each = isHistogram                         ? 3 + kCandidates
                             : what.kind == MeasureKind::FindTie ? 2
                             : what.kind == MeasureKind::Ties    ? 1
                                                                 : 0;
    const bool fits = values > 0 && (what.kind != MeasureKind::Divergence || values == 2) &&
                      what.program.count % what.program.columns == 0 &&
                      what.numbers.size() == each * values && out.ElementLength() == measureSize(what) &&
                      (!isHistogram || (counts.ElementLength() >= values * what.bins && fitsBins(what)));
    if (!fits) throw Napi::RangeError::New(info.Env(), "measure");
    const Control control(info[3].As<Napi::BigInt64Array>().Data());
    const FloatingPointDefaults defaults;
    return toObject(info.Env(), measure(*kernels(), what, {out.Data(), out.ElementLength()},
                                        {counts.Data(), counts.ElementLength()}, control));
}

/// lock(fd) → 0 when taken, else the errno
Napi::Value lock(const Napi::CallbackInfo& info) {
    return Napi::Number::New(info.Env(), lockFile(info[0].As<Napi::Number>().Int32Value()));
}

/// exchange(a, b) → true when the two directory entries changed places, false where the file system has no
/// such step; throws where it failed
Napi::Value exchangePaths(const Napi::CallbackInfo& info) {
    const int error = exchange(info[0].As<Napi::String>(), info[1].As<Napi::String>());
    if (error != 0 && error != ENOTSUP) throw Napi::Error::New(info.Env(), describe(error));
    return Napi::Boolean::New(info.Env(), error == 0);
}

Napi::Object initialise(Napi::Env env, Napi::Object exports) {
    auto available = Napi::Array::New(env);
    for (const Kernels* candidate : availableKernels()) available.Set(available.Length(), candidate->isa);
    exports.Set("instructionSets", available);
    exports.Set("instructionSet", kernels() == nullptr ? env.Null() : Napi::String::New(env, kernels()->isa));
    exports.Set("execute", Napi::Function::New(env, execute, "execute"));
    exports.Set("reduce", Napi::Function::New(env, reduceRows, "reduce"));
    exports.Set("measure", Napi::Function::New(env, measureBlock, "measure"));
    exports.Set("lock", Napi::Function::New(env, lock, "lock"));
    exports.Set("exchange", Napi::Function::New(env, exchangePaths, "exchange"));
    return exports;
}

}  // namespace
}  // namespace layerloom

Napi::Object Init(Napi::Env env, Napi::Object exports) { return layerloom::initialise(env, exports); }
NODE_API_MODULE(layerloom, Init)
