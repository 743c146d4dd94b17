#pragma once
#include <cstddef>

#include "dtype.hpp"

namespace layerloom {

/// Sums along a row are kept in so many lanes: two of the widest vectors, so that one addition need not wait
/// for the other.
inline constexpr std::size_t kLanes = 32;

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

    /// sums[i] += |x[i]|, in float64.
    void (*addMagnitudes)(const float* x, double* sums, std::size_t count);

    /// lanes[i % kLanes] += |x[i]|, in float64 and in order: the same sums on every instruction set.
    void (*sumMagnitudes)(const float* x, double* lanes, std::size_t count);

    /// lanes[i % kLanes] += x[i]·y[i]: eight float32 products of a lane are summed in float32, and their sum
    /// is widened. For comparing directions, where seven digits are plenty.
    void (*dot)(const float* x, const float* y, double* lanes, std::size_t count);

    /// counts[0] += elements whose product is not 0, counts[1] += those of them where it is positive.
    void (*compareSigns)(const float* x, const float* y, std::uint64_t* counts, std::size_t count);
};

}  // namespace layerloom
