#pragma once
#include <span>

#include "kernels.hpp"

namespace layerloom {

/// The data may have any alignment.
struct Source {
    const std::byte* data;
    DType dtype;
};

/// The data may have any alignment.
struct Sink {
    std::byte* data;
    DType dtype;
};

/// Weight of a single source that `linear` only converts.
inline constexpr double kOne[] = {1};

/// out[i] = round(w₀x₀[i] + w₁x₁[i] + …) for `count` elements, by the numeric contract (docs/numbers.md).
///
/// `sources` and `weights` have equal lengths, at least 1. Returns true if all results are finite.
bool linear(const Kernels& kernels, std::span<const Source> sources, std::span<const double> weights,
            Sink sink, std::size_t count);

}  // namespace layerloom
