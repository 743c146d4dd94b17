// The text of the elementwise kernels, compiled once for each instruction set. A file in targets/ includes
// one of simd/*.hpp, which defines `Vec`, and then this. Whole vectors first, then the last elements by
// scalar.hpp, which gives the same bits.
#include "kernels.hpp"
#include "scalar.hpp"

namespace layerloom {
namespace {

template <DType D>
void scale(const std::byte* x, float weight, float* tile, std::size_t count) {
    const auto weights = Vec::broadcast(weight);
    std::size_t i = 0;
    for (; i + Vec::lanes <= count; i += Vec::lanes)
        Vec::store(tile + i, Vec::multiply(weights, Vec::load<D>(x + i * sizeOf(D))));
    for (; i < count; ++i) tile[i] = weight * loadOne<D>(x + i * sizeOf(D));
}

template <DType D>
void accumulate(const std::byte* x, float weight, float* tile, std::size_t count) {
    const auto weights = Vec::broadcast(weight);
    std::size_t i = 0;
    for (; i + Vec::lanes <= count; i += Vec::lanes) {
        const auto product = Vec::multiply(weights, Vec::load<D>(x + i * sizeOf(D)));
        Vec::store(tile + i, Vec::add(Vec::loadTile(tile + i), product));
    }
    for (; i < count; ++i) {
        const float product = weight * loadOne<D>(x + i * sizeOf(D));
        tile[i] = tile[i] + product;
    }
}

template <DType D>
void round(const float* tile, std::byte* out, std::size_t count) {
    std::size_t i = 0;
    for (; i + Vec::lanes <= count; i += Vec::lanes)
        Vec::round<D>(Vec::canonical(Vec::loadTile(tile + i)), out + i * sizeOf(D));
    for (; i < count; ++i) storeOne<D>(canonical(tile[i]), out + i * sizeOf(D));
}

constexpr Kernels makeKernels(const char* isa) {
    return {
        isa,
        {scale<DType::BF16>, scale<DType::F16>, scale<DType::F32>, nullptr},
        {accumulate<DType::BF16>, accumulate<DType::F16>, accumulate<DType::F32>, nullptr},
        {round<DType::BF16>, round<DType::F16>, round<DType::F32>, nullptr},
    };
}

}  // namespace
}  // namespace layerloom
