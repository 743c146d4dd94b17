// N-API only: arguments in, status out. What the functions do is in jobs/ and io/; their TypeScript side is
// src/native/addon.ts, the only caller, whose types are trusted here.
#include <napi.h>

#include <cfenv>
#include <string>
#include <system_error>

#include "../io/staging.hpp"
#include "../jobs/job.hpp"
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

Job toJob(const Napi::Object& object) {
    Job job;
    job.kind = toEnumeration<JobKind>(object, "kind", kJobKinds);
    job.sources = toRanges(object.Get("sources").As<Napi::Array>());
    const auto weights = object.Get("weights").As<Napi::Array>();
    for (std::uint32_t i = 0; i < weights.Length(); ++i)
        job.weights.push_back(weights.Get(i).As<Napi::Number>().DoubleValue());
    job.output = toRange(object.Get("output").As<Napi::Object>());
    job.count = static_cast<std::uint64_t>(integer(object, "count"));
    if (job.kind == JobKind::Select)
        job.selection = toSelection(object.Get("select").As<Napi::Object>(), job);
    if (job.sources.empty() || (job.kind == JobKind::Linear && job.weights.size() != job.sources.size()))
        throw Napi::RangeError::New(object.Env(), "sources");
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
    exports.Set("lock", Napi::Function::New(env, lock, "lock"));
    exports.Set("exchange", Napi::Function::New(env, exchangePaths, "exchange"));
    return exports;
}

}  // namespace
}  // namespace layerloom

Napi::Object Init(Napi::Env env, Napi::Object exports) { return layerloom::initialise(env, exports); }
NODE_API_MODULE(layerloom, Init)
