#include "linear.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "convert.hpp"

namespace layerloom {
namespace {

constexpr std::size_t index(DType dtype) { return static_cast<std::size_t>(dtype); }

constexpr std::uint64_t kCanonicalNan64 = 0x7FF8'0000'0000'0000ull;

double canonical64(double x) { return x != x ? bitsAs<double>(kCanonicalNan64) : x; }

/// Rounds to odd: an inexact result gets a last bit of 1, so that rounding it to at most 22 bits equals a
/// single rounding from float64.
float toOdd32(double x) {
    const auto nearest = static_cast<float>(x);
    if (static_cast<double>(nearest) == x || x != x) return nearest;
    auto bits = bitsAs<std::uint32_t>(nearest);
    if ((bits & 1u) != 0) return nearest;
    // The neighbours of x are the even `nearest` and, on the other side, an odd number.
    const bool away = std::fabs(x) > std::fabs(static_cast<double>(nearest));
    bits += away ? 1u : static_cast<std::uint32_t>(-1);
    return bitsAs<float>(bits);
}

double load64(DType dtype, const std::byte* at) {
    switch (dtype) {
        case DType::BF16:
            return load<Scalar, DType::BF16>(at);
        case DType::F16:
            return load<Scalar, DType::F16>(at);
        case DType::F32:
            return load<Scalar, DType::F32>(at);
        case DType::F64:
            return loadAt<double>(at);
        case DType::F8_E4M3:
            return load<Scalar, DType::F8_E4M3>(at);
        case DType::F8_E5M2:
            return load<Scalar, DType::F8_E5M2>(at);
    }
    return 0;
}

void store64(DType dtype, double x, std::byte* at) {
    switch (dtype) {
        case DType::BF16:
            return store<Scalar, DType::BF16>(toOdd32(x), at);
        case DType::F16:
            return store<Scalar, DType::F16>(toOdd32(x), at);
        case DType::F32:
            return store<Scalar, DType::F32>(static_cast<float>(x), at);
        case DType::F64:
            return storeAt(at, canonical64(x));
        case DType::F8_E4M3:
            return store<Scalar, DType::F8_E4M3>(toOdd32(x), at);
        case DType::F8_E5M2:
            return store<Scalar, DType::F8_E5M2>(toOdd32(x), at);
    }
}

bool linear64(const Kernels& kernels, std::span<const Source> sources, std::span<const double> weights, Sink sink,
              std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        double sum = 0;
        for (std::size_t t = 0; t < sources.size(); ++t) {
            const auto [data, dtype] = sources[t];
            const double product = weights[t] * load64(dtype, data + i * sizeOf(dtype));
            sum = t == 0 ? product : sum + product;
        }
        store64(sink.dtype, sum, sink.data + i * sizeOf(sink.dtype));
    }
    return kernels.isFinite[index(sink.dtype)](sink.data, count);
}

/// Elements of a tile, so that two float32 tiles and the output share the L1 cache.
constexpr std::size_t kTile = 2048;

/// Widens sources of several dtypes into tiles, and combines these.
bool linearMixed(const Kernels& kernels, std::span<const Source> sources, const float* weights, Sink sink,
                 std::size_t count) {
    constexpr float one = 1;
    const std::size_t terms = sources.size();
    // Reuses memory, because a program calls this for each step of some hundred elements.
    thread_local std::vector<float> tiles;
    thread_local std::vector<const std::byte*> pointers;
    tiles.resize(std::max(tiles.size(), terms * kTile));
    pointers.resize(terms);
    bool isFinite = true;
    for (std::size_t begin = 0; begin < count; begin += kTile) {
        const std::size_t n = std::min(kTile, count - begin);
        for (std::size_t t = 0; t < terms; ++t) {
            const auto [data, dtype] = sources[t];
            const std::byte* from = data + begin * sizeOf(dtype);
            pointers[t] = from;
            if (dtype == DType::F32) continue;
            auto* tile = reinterpret_cast<std::byte*>(tiles.data() + t * kTile);
            kernels.linear[index(dtype)][index(DType::F32)](&from, &one, 1, tile, n);
            pointers[t] = tile;
        }
        isFinite &= kernels.linear[index(DType::F32)][index(sink.dtype)](
            pointers.data(), weights, terms, sink.data + begin * sizeOf(sink.dtype), n);
    }
    return isFinite;
}

}  // namespace

bool linear(const Kernels& kernels, std::span<const Source> sources, std::span<const double> weights,
            Sink sink, std::size_t count) {
    const DType first = sources.front().dtype;
    const auto isWide = [](const Source& source) { return source.dtype == DType::F64; };
    if (sink.dtype == DType::F64 || std::ranges::any_of(sources, isWide))
        return linear64(kernels, sources, weights, sink, count);

    // Reuses memory, because tiles are small.
    thread_local std::vector<float> rounded;
    thread_local std::vector<const std::byte*> pointers;
    rounded.assign(weights.begin(), weights.end());
    if (std::ranges::any_of(sources, [&](const Source& source) { return source.dtype != first; }))
        return linearMixed(kernels, sources, rounded.data(), sink, count);

    pointers.clear();
    for (const Source& source : sources) pointers.push_back(source.data);
    return kernels.linear[index(first)][index(sink.dtype)](pointers.data(), rounded.data(), sources.size(),
                                                           sink.data, count);
}

}  // namespace layerloom
