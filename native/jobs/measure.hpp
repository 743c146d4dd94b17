#pragma once
#include <span>

#include "program.hpp"

namespace layerloom {

/// What is found of some values of a program over a block of whole rows.
enum class MeasureKind : std::uint8_t {
    Gram,        ///< Σ xᵢxⱼ for pairs i ≤ j of the values, in order
    RowGram,     ///< the same for each row of the block
    ColumnGram,  ///< the same for each column, summed over the block's rows
    Magnitudes,  ///< Σ |x| of each value
    Histogram,   ///< magnitudes within a window of each value; how many are above it, and of each candidate
    Ties,        ///< how many elements of each value have a given magnitude
    FindTie,     ///< the index in the tensor of the n-th element with a given magnitude
    Divergence,  ///< for each row the Kullback-Leibler divergence of softmax(value 0) from softmax(value 1)
    Signs,       ///< of each value, elements above 0 less those below
};

inline constexpr std::int64_t kMeasureKinds = 9;

struct Measure {
    MeasureKind kind;
    Program program;
    std::vector<std::uint32_t> values;
    /// For each value: low, last, shift and the candidates (Histogram), bits (Ties), bits and ordinal from 1
    /// on (FindTie).
    std::vector<double> numbers;
    std::uint32_t bins = 0;  ///< of each window
};

/// Measures a block on the calling thread. Sums are float64, in an order that the block alone decides.
///
/// @param out `measureSize` zeros: one number for each pair, row and pair, column and pair, value or row
/// @param counts for Histogram: `bins` for each value, which threads share and add to
Status measure(const Kernels& kernels, const Measure& what, std::span<double> out,
               std::span<std::uint32_t> counts, Control control);

/// How many numbers `out` takes.
std::size_t measureSize(const Measure& what);

}  // namespace layerloom
