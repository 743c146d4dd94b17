#include "linear.hpp"

#include <algorithm>

#include "scalar.hpp"

namespace layerloom {
namespace {

/// Elements of a tile: 8 KiB of float32 or 16 KiB of float64, so that tile, inputs and output share the L1
/// cache.
constexpr std::size_t kTile = 2048;

constexpr std::size_t index(DType dtype) { return static_cast<std::size_t>(dtype); }

double loadWide(DType dtype, const std::byte* at) {
    switch (dtype) {
        case DType::BF16:
            return static_cast<double>(loadOne<DType::BF16>(at));
        case DType::F16:
            return static_cast<double>(loadOne<DType::F16>(at));
        case DType::F32:
            return static_cast<double>(loadOne<DType::F32>(at));
        case DType::F64:
            return loadAt<double>(at);
    }
    return 0;
}

void roundWide(DType dtype, double x, std::byte* at) {
    switch (dtype) {
        case DType::BF16:
            storeOne<DType::BF16>(canonical(toF32Odd(x)), at);
            break;
        case DType::F16:
            storeOne<DType::F16>(canonical(toF32Odd(x)), at);
            break;
        case DType::F32:
            storeOne<DType::F32>(canonical(static_cast<float>(x)), at);
            break;
        case DType::F64:
            storeAt(at, canonical(x));
            break;
    }
}

void linear64(std::span<const Source> sources, std::span<const double> weights, Sink sink,
              std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        double sum = 0;
        for (std::size_t t = 0; t < sources.size(); ++t) {
            const auto [data, dtype] = sources[t];
            const double product = weights[t] * loadWide(dtype, data + i * sizeOf(dtype));
            sum = t == 0 ? product : sum + product;
        }
        roundWide(sink.dtype, sum, sink.data + i * sizeOf(sink.dtype));
    }
}

}  // namespace

void linear(const Kernels& kernels, std::span<const Source> sources, std::span<const double> weights,
            Sink sink, std::size_t count) {
    const bool wide = sink.dtype == DType::F64 ||
                      std::ranges::any_of(sources, [](const Source& s) { return s.dtype == DType::F64; });
    if (wide) return linear64(sources, weights, sink, count);

    float tile[kTile];
    for (std::size_t begin = 0; begin < count; begin += kTile) {
        const std::size_t n = std::min(kTile, count - begin);
        for (std::size_t t = 0; t < sources.size(); ++t) {
            const auto [data, dtype] = sources[t];
            const auto step = t == 0 ? kernels.scale[index(dtype)] : kernels.accumulate[index(dtype)];
            step(data + begin * sizeOf(dtype), static_cast<float>(weights[t]), tile, n);
        }
        kernels.round[index(sink.dtype)](tile, sink.data + begin * sizeOf(sink.dtype), n);
    }
}

}  // namespace layerloom
