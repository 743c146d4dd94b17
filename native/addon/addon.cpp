// N-API only: arguments in, status out. What the functions do is in jobs/ and io/; their TypeScript side is
// src/native/addon.ts, the only caller, whose types are trusted here.
#include <napi.h>

#include <cfenv>
#include <string>
#include <system_error>

#include "../io/staging.hpp"
#include "../jobs/job.hpp"
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

Job toJob(const Napi::Object& object) {
    Job job;
    job.kind = toEnumeration<JobKind>(object, "kind", kJobKinds);
    const auto sources = object.Get("sources").As<Napi::Array>();
    for (std::uint32_t i = 0; i < sources.Length(); ++i)
        job.sources.push_back(toRange(sources.Get(i).As<Napi::Object>()));
    const auto weights = object.Get("weights").As<Napi::Array>();
    for (std::uint32_t i = 0; i < weights.Length(); ++i)
        job.weights.push_back(weights.Get(i).As<Napi::Number>().DoubleValue());
    job.output = toRange(object.Get("output").As<Napi::Object>());
    job.count = static_cast<std::uint64_t>(integer(object, "count"));
    if (job.sources.empty() || (job.kind == JobKind::Linear && job.weights.size() != job.sources.size()))
        throw Napi::RangeError::New(object.Env(), "sources");
    return job;
}

std::string describe(int error) { return std::generic_category().message(error); }

/// execute(job, control: BigInt64Array over shared memory) → { outcome, source, error, message }
Napi::Value execute(const Napi::CallbackInfo& info) {
    const Job job = toJob(info[0].As<Napi::Object>());
    const Control control(info[1].As<Napi::BigInt64Array>().Data());
    Status status;
    {
        const FloatingPointDefaults defaults;
        status = run(*kernels(), job, control);
    }
    auto result = Napi::Object::New(info.Env());
    result.Set("outcome", static_cast<double>(status.outcome));
    result.Set("source", static_cast<double>(status.source));
    result.Set("error", status.error);
    result.Set("message", status.error == 0 ? std::string() : describe(status.error));
    return result;
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
    exports.Set("lock", Napi::Function::New(env, lock, "lock"));
    exports.Set("exchange", Napi::Function::New(env, exchangePaths, "exchange"));
    return exports;
}

}  // namespace
}  // namespace layerloom

Napi::Object Init(Napi::Env env, Napi::Object exports) { return layerloom::initialise(env, exports); }
NODE_API_MODULE(layerloom, Init)
