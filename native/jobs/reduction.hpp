#pragma once
#include <span>

#include "job.hpp"

namespace layerloom {

/// A block of whole rows of a matrix, as several experts and their base have it.
struct Reduction {
    std::vector<Range> sources;  ///< the base, then the experts
    std::uint64_t rows, columns;
    RowSense sense;
};

/// Where sums go. All start at 0.
struct Sums {
    /// Σ |expert − base|: for each expert `columns` numbers (Input), or `rows` (Output).
    std::span<double> magnitudes;
    /// For each pair of experts i ≤ j, in order: Σ δᵢδⱼ, elements that both changed, those with one sign.
    /// Empty where that is not asked for.
    std::span<double> pairs;
    /// For each source, elements that are no finite numbers; for an expert also differences beyond float32.
    std::span<double> nonFinite;
};

/// Sums over a block on the calling thread. Differences are rounded to float32, sums are float64, in an order
/// that the block alone decides. Every byte of a source is read once.
Status reduce(const Kernels& kernels, const Reduction& reduction, Sums sums, Control control);

}  // namespace layerloom
