#pragma once
#include <cstddef>

#include "dtype.hpp"

namespace layerloom {

/// The primitive operations of one instruction set. Arithmetic runs over float32 tiles that stay in the L1
/// cache: inputs of any dtype widen into a tile, kernels work on tiles, and a tile is rounded once into the
/// output dtype. So the number of kernels grows with the dtypes, not with their combinations.
///
/// Pointers need no alignment. Entries of F64 are null: see linear.cpp for the float64 route.
struct Kernels {
    const char* isa;

    /// tile[i] = weight · x[i]
    void (*scale[kDTypes])(const std::byte* x, float weight, float* tile, std::size_t count);
    /// tile[i] = tile[i] + weight · x[i], the product rounded before the sum (never contracted)
    void (*accumulate[kDTypes])(const std::byte* x, float weight, float* tile, std::size_t count);
    /// out[i] = tile[i] rounded to nearest even, NaN made canonical
    void (*round[kDTypes])(const float* tile, std::byte* out, std::size_t count);
};

}  // namespace layerloom
