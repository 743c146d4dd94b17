// Only N-API code; jobs/ and io/ do the work. Signatures are in src/core/native/addon.ts. decode.cpp checks
// arguments.
#include <napi.h>

#include <cfenv>
#include <string>
#include <system_error>

#include "../io/staging.hpp"
#include "../kernels/dispatch.hpp"
#include "decode.hpp"
#include "read.hpp"

namespace layerloom {
namespace {

/// Enables round-to-nearest and subnormals while a job runs. An addon built with -ffast-math may have changed
/// its thread's settings.
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

std::string describe(int error) { return std::generic_category().message(error); }

Napi::Array fromNonFinite(Napi::Env env, const std::vector<NonFiniteElement>& elements) {
    auto result = Napi::Array::New(env);
    for (const auto& [watched, cause, element, number] : elements) {
        auto one = Napi::Object::New(env);
        one.Set("watched", static_cast<double>(watched));
        one.Set("cause", static_cast<double>(cause));
        one.Set("element", static_cast<double>(element));
        one.Set("number", number);
        result.Set(result.Length(), one);
    }
    return result;
}

Napi::Object fromStatus(Napi::Env env, const Status& status) {
    // Names of Outcome's members, in the same order.
    constexpr const char* outcomes[] = {"done",       "cancelled",   "inputShrank",
                                        "readFailed", "writeFailed", "notEqual", "threadFailed"};
    auto result = Napi::Object::New(env);
    result.Set("outcome", outcomes[static_cast<std::size_t>(status.outcome)]);
    result.Set("source", static_cast<double>(status.source));
    result.Set("reason", status.error == 0 ? std::string() : describe(status.error));
    result.Set("nonFinite", fromNonFinite(env, status.nonFinite));
    return result;
}

/// Decodes arguments and returns a status. If the environment ends meanwhile, node-addon-api swallows the
/// error (CMakeLists.txt).
template <class Call>
Napi::Value answer(const Napi::CallbackInfo& info, const Call& call) {
    const Napi::Env env = info.Env();
    if (kernels() == nullptr)
        throw Napi::Error::New(env, "LAYERLOOM_ISA names no instruction set of this machine");
    const FloatingPointDefaults defaults;
    try {
        return fromStatus(env, call(*kernels()));
    } catch (const std::system_error& error) {
        // The process may have no thread left to watch the guard.
        return fromStatus(env, {Outcome::ThreadFailed, error.code().value()});
    } catch (const LostSource& lost) {
        return fromStatus(env, lost.status);
    } catch (const BadJob& error) {
        throw Napi::RangeError::New(env, std::string("bad job: ") + error.what());
    }
}

Napi::Value runJob(const Napi::CallbackInfo& info) {
    return answer(info, [&](const Kernels& kernels) {
        const Job job = toJob(info[0]);
        return run(kernels, job, toControl(info[1]));
    });
}

Napi::Value measureBlock(const Napi::CallbackInfo& info) {
    return answer(info, [&](const Kernels& kernels) {
        const auto [measurement, out] = toMeasureCall(info[0], info[1]);
        return measure(kernels, measurement, out, toControl(info[2]));
    });
}

Napi::Value solveMatrices(const Napi::CallbackInfo& info) {
    return answer(info, [&](const Kernels& kernels) {
        const auto [solver, out] = toSolverCall(info[0], info[1]);
        return solve(kernels, solver, out, toControl(info[2]));
    });
}

Napi::Value hashRanges(const Napi::CallbackInfo& info) {
    return answer(info, [&](const Kernels&) {
        const auto [ranges, states] = toHashCall(info[0], info[1]);
        return hash(*sha256(), ranges, states, toControl(info[2]));
    });
}

/// lock(fd) → 0 if it got the lock, otherwise the errno
Napi::Value lock(const Napi::CallbackInfo& info) {
    return Napi::Number::New(info.Env(), lockFile(toDescriptor(info[0])));
}

/// openRemote(memory, parts) → the number of a remote file
Napi::Value openRemote(const Napi::CallbackInfo& info) {
    try {
        return Napi::Number::New(info.Env(), addRemote(toRemoteFile(info[0], info[1])));
    } catch (const BadJob& error) {
        throw Napi::RangeError::New(info.Env(), std::string("bad job: ") + error.what());
    }
}

void closeRemote(const Napi::CallbackInfo& info) { removeRemote(toDescriptor(info[0])); }

/// exchange(a, b) → false if the file system does not support it; throws on other failures
Napi::Value exchangePaths(const Napi::CallbackInfo& info) {
    const std::string a = toPath(info[0], "a"), b = toPath(info[1], "b");
    const int error = exchange(a, b);
    if (error != 0 && error != ENOTSUP) throw Napi::Error::New(info.Env(), describe(error));
    return Napi::Boolean::New(info.Env(), error == 0);
}

Napi::Object initialise(Napi::Env env, Napi::Object exports) {
    auto available = Napi::Array::New(env);
    for (const Kernels* candidate : availableKernels()) available.Set(available.Length(), candidate->isa);
    exports.Set("instructionSets", available);
    exports.Set("instructionSet", kernels() == nullptr ? env.Null() : Napi::String::New(env, kernels()->isa));
    exports.Set("run", Napi::Function::New(env, runJob, "run"));
    exports.Set("measure", Napi::Function::New(env, measureBlock, "measure"));
    exports.Set("solve", Napi::Function::New(env, solveMatrices, "solve"));
    // Exported only with SHA instructions; without, Node's OpenSSL is faster than our code.
    if (sha256() != nullptr) exports.Set("hash", Napi::Function::New(env, hashRanges, "hash"));
    exports.Set("openRemote", Napi::Function::New(env, openRemote, "openRemote"));
    exports.Set("closeRemote", Napi::Function::New(env, closeRemote, "closeRemote"));
    exports.Set("lock", Napi::Function::New(env, lock, "lock"));
    exports.Set("exchange", Napi::Function::New(env, exchangePaths, "exchange"));
    return exports;
}

}  // namespace
}  // namespace layerloom

Napi::Object Init(Napi::Env env, Napi::Object exports) { return layerloom::initialise(env, exports); }
NODE_API_MODULE(layerloom, Init)
