#pragma once
#include <span>

#include "kernels.hpp"

namespace layerloom {

/// Any alignment.
struct Source {
    const std::byte* data;
    DType dtype;
};

/// Any alignment.
struct Sink {
    std::byte* data;
    DType dtype;
};

/// out[i] = round(w₀x₀[i] + w₁x₁[i] + …), for `count` elements.
///
/// Inputs are widened exactly to float32, weights rounded to it. Each product is rounded before adding, in
/// the order of terms from the first product (so that −0 survives); the sum is rounded once to the sink's
/// dtype, nearest even. If a source or the sink is F64, all this is in float64. Computed NaN is the positive
/// quiet NaN.
///
/// `sources` and `weights` have the same length, at least 1. Returns true if all results are finite.
bool linear(const Kernels& kernels, std::span<const Source> sources, std::span<const double> weights,
            Sink sink, std::size_t count);

}  // namespace layerloom
