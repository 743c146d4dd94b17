// Kernels over memory, for bench/kernels.mjs alone: the product's addon works on files.
#include <napi.h>

#include <cstring>

#include "kernels/dispatch.hpp"
#include "kernels/linear.hpp"

using namespace layerloom;

namespace {

std::byte* bytesOf(const Napi::Value& value) {
    return reinterpret_cast<std::byte*>(value.As<Napi::Uint8Array>().Data());
}

const Kernels& named(const Napi::CallbackInfo& info, const std::string& isa) {
    for (const Kernels* candidate : availableKernels())
        if (isa == candidate->isa) return *candidate;
    throw Napi::RangeError::New(info.Env(), isa);
}

/// linear(isa, sources: Uint8Array[], dtype, out: Uint8Array, outDtype, count): the uniform average
void linearOf(const Napi::CallbackInfo& info) {
    const Kernels& kernels = named(info, info[0].As<Napi::String>());
    const auto arrays = info[1].As<Napi::Array>();
    const auto dtype = static_cast<DType>(info[2].As<Napi::Number>().Int32Value());
    const auto outDtype = static_cast<DType>(info[4].As<Napi::Number>().Int32Value());
    std::vector<Source> sources;
    for (std::uint32_t i = 0; i < arrays.Length(); ++i) sources.push_back({bytesOf(arrays.Get(i)), dtype});
    const std::vector<double> weights(sources.size(), 1.0 / static_cast<double>(sources.size()));
    linear(kernels, sources, weights, {bytesOf(info[3]), outDtype},
           static_cast<std::size_t>(info[5].As<Napi::Number>().Int64Value()));
}

/// product(isa, left: Float32Array, right: Float32Array, ranks, rows, columns, out: Float32Array)
void productOf(const Napi::CallbackInfo& info) {
    const auto floats = [&](std::size_t at) { return info[at].As<Napi::Float32Array>().Data(); };
    const auto size = [&](std::size_t at) {
        return static_cast<std::size_t>(info[at].As<Napi::Number>().Int64Value());
    };
    const std::size_t ranks = size(3), columns = size(5);
    named(info, info[0].As<Napi::String>())
        .product({floats(1), ranks, floats(2), columns, ranks}, size(4), columns, false, floats(6), columns);
}

/// copy(from, to)
void copyOf(const Napi::CallbackInfo& info) {
    std::memcpy(bytesOf(info[1]), bytesOf(info[0]), info[0].As<Napi::Uint8Array>().ByteLength());
}

/// mix(a, b, to): the traffic of an average of two, with no arithmetic to speak of
void mixOf(const Napi::CallbackInfo& info) {
    const auto* a = reinterpret_cast<const std::uint64_t*>(bytesOf(info[0]));
    const auto* b = reinterpret_cast<const std::uint64_t*>(bytesOf(info[1]));
    auto* to = reinterpret_cast<std::uint64_t*>(bytesOf(info[2]));
    const std::size_t words = info[0].As<Napi::Uint8Array>().ByteLength() / sizeof(std::uint64_t);
    for (std::size_t i = 0; i < words; ++i) to[i] = a[i] ^ b[i];
}

Napi::Object initialise(Napi::Env env, Napi::Object exports) {
    auto available = Napi::Array::New(env);
    for (const Kernels* candidate : availableKernels()) available.Set(available.Length(), candidate->isa);
    exports.Set("instructionSets", available);
    exports.Set("linear", Napi::Function::New(env, linearOf));
    exports.Set("product", Napi::Function::New(env, productOf));
    exports.Set("copy", Napi::Function::New(env, copyOf));
    exports.Set("mix", Napi::Function::New(env, mixOf));
    return exports;
}

}  // namespace

Napi::Object Init(Napi::Env env, Napi::Object exports) { return initialise(env, exports); }
NODE_API_MODULE(kernels_bench, Init)
