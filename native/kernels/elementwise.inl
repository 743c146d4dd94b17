// The text of the elementwise kernels, compiled once for each instruction set. A file in targets/ includes
// one of simd/*.hpp and then this, and makes its table with the struct it has found there. Whole vectors
// first, then the last elements by the scalar struct, which gives the same bits.
#include "convert.hpp"
#include "kernels.hpp"

namespace layerloom {
namespace {

std::byte* bytes(float* tile) { return reinterpret_cast<std::byte*>(tile); }
const std::byte* bytes(const float* tile) { return reinterpret_cast<const std::byte*>(tile); }

/// Calls `step` with the struct to use and the index of the next element, until `count` elements are done.
template <class V, class Step>
void forEach(std::size_t count, Step step) {
    std::size_t i = 0;
    for (; i + V::lanes <= count; i += V::lanes) step(V{}, i);
    for (; i < count; ++i) step(Scalar{}, i);
}

template <class V, DType D>
void scale(const std::byte* x, float weight, float* tile, std::size_t count) {
    forEach<V>(count, [=]<class W>(W, std::size_t i) {
        W::storeFloats(W::multiply(W::floats(weight), load<W, D>(x + i * sizeOf(D))), bytes(tile + i));
    });
}

template <class V, DType D>
void accumulate(const std::byte* x, float weight, float* tile, std::size_t count) {
    forEach<V>(count, [=]<class W>(W, std::size_t i) {
        const auto product = W::multiply(W::floats(weight), load<W, D>(x + i * sizeOf(D)));
        W::storeFloats(W::add(W::loadFloats(bytes(tile + i)), product), bytes(tile + i));
    });
}

template <class V, DType D>
void round(const float* tile, std::byte* out, std::size_t count) {
    forEach<V>(count, [=]<class W>(W, std::size_t i) {
        store<W, D>(canonical<W>(W::loadFloats(bytes(tile + i))), out + i * sizeOf(D));
    });
}

/// In the order of DType; F64 has a route of its own (linear.cpp).
template <class V>
constexpr Kernels makeKernels(const char* isa) {
    using enum DType;
    return {
        isa,
        {scale<V, BF16>, scale<V, F16>, scale<V, F32>, nullptr, scale<V, F8_E4M3>, scale<V, F8_E5M2>},
        {accumulate<V, BF16>, accumulate<V, F16>, accumulate<V, F32>, nullptr, accumulate<V, F8_E4M3>,
         accumulate<V, F8_E5M2>},
        {round<V, BF16>, round<V, F16>, round<V, F32>, nullptr, round<V, F8_E4M3>, round<V, F8_E5M2>},
    };
}

}  // namespace
}  // namespace layerloom
