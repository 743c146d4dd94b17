#pragma once
#include "../dtype.hpp"
#include "../scalar.hpp"

namespace layerloom {
namespace {

/// No vectors: the elements that finish a vector loop elsewhere are all of them here.
struct Vec {
    static constexpr std::size_t lanes = 1;
    static float broadcast(float x) { return x; }
    static float multiply(float a, float b) { return a * b; }
    static float add(float a, float b) { return a + b; }
    static float canonical(float x) { return layerloom::canonical(x); }
    static float loadTile(const float* tile) { return *tile; }
    static void store(float* tile, float x) { *tile = x; }

    template <DType D>
    static float load(const std::byte* at) {
        return loadOne<D>(at);
    }

    template <DType D>
    static void round(float x, std::byte* at) {
        storeOne<D>(x, at);
    }
};

}  // namespace
}  // namespace layerloom
