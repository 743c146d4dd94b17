#pragma once
#include <cstddef>

#include "dtype.hpp"

namespace layerloom {

/// The kernels of one instruction set. Tables are indexed by DType; entries of F64 are null, see linear.cpp.
struct Kernels {
    const char* isa;

    /// out[i] = round(weights[0]·sources[0][i] + weights[1]·sources[1][i] + …) for `count` elements: `terms`
    /// sources of one dtype, widened to float32; each product rounded before it is added (never contracted);
    /// the sum rounded once to the output's dtype, NaN made canonical. At least one term. Pointers need no
    /// alignment.
    ///
    /// Reads every byte once and writes every byte once, in one pass: out of cache it runs at the memory's
    /// speed.
    void (*linear[kDTypes][kDTypes])(const std::byte* const* sources, const float* weights, std::size_t terms,
                                     std::byte* out, std::size_t count);
};

}  // namespace layerloom
