#pragma once
#include <span>
#include <variant>

#include "program.hpp"

namespace layerloom {

/// How a block is cut into tiles, of whole rows if needed. Part of the numeric contract: with each tile or
/// row, sums of float32 products start again from 0, and elements are dealt to lanes from the first.
enum class Tiling : std::uint8_t {
    Runs,      ///< 1024 elements, ignoring rows: those of all values share the L1 cache
    LongRuns,  ///< the same with 4096
    Rows,  ///< whole rows of up to 4096 elements in total, or pieces of 4096 of one row;
           ///< other sizes where no sum depends on it
};

// Measures over a block of whole rows; docs/architecture.md says how to add one.

/// Σ xᵢxⱼ for pairs i ≤ j, in order. Products are float32; float64 if the sums of a finite block overflow.
struct Gram {
    std::vector<ValueId> values;
    static constexpr Tiling tiling = Tiling::Runs;
};

/// `Gram` for each row.
struct RowGram {
    std::vector<ValueId> values;
    static constexpr Tiling tiling = Tiling::LongRuns;
};

/// `Gram` for each column, summed over the block's rows.
struct ColumnGram {
    std::vector<ValueId> values;
    static constexpr Tiling tiling = Tiling::Runs;
};

/// Σ |x| over the block.
struct Magnitudes {
    ValueId value;
    static constexpr Tiling tiling = Tiling::Runs;
};

/// Σ |x| for each row.
struct RowMagnitudes {
    ValueId value;
    static constexpr Tiling tiling = Tiling::Rows;
};

/// Σ |x| for each column, over the block's rows.
struct ColumnMagnitudes {
    ValueId value;
    static constexpr Tiling tiling = Tiling::Rows;
};

/// Σ x for each column, in float64.
struct ColumnSums {
    ValueId value;
    static constexpr Tiling tiling = Tiling::Rows;
};

/// For each pair i ≤ j, in order: Σ xᵢxⱼ, the number of elements where neither is 0, and how many of these
/// have equal signs (both numbers are 0 for i = j). Needs RowMagnitudes or ColumnMagnitudes of each value. If
/// these are not all finite, NaN and infinity count as 0.
struct Overlaps {
    std::vector<ValueId> values;
    static constexpr Tiling tiling = Tiling::Rows;
};

/// Counts NaN and infinity in `base`, then in each expert, including differences that overflow. Needs
/// RowMagnitudes or ColumnMagnitudes of each difference, and counts only where these are not finite.
struct NonFinite {
    ValueId base;
    std::vector<ValueId> experts, differences;
    static constexpr Tiling tiling = Tiling::Rows;
};

/// Counts the magnitudes in each bin of a window, above the window, and equal to each candidate.
struct Histogram {
    ValueId value;
    Window window;
    /// Counts to which all threads add.
    std::span<std::uint32_t> counts;
    static constexpr Tiling tiling = Tiling::Runs;
};

/// Counts, for each value, elements with a magnitude above `bits`, and elements at which only this value is above
/// `bits`.
struct CountAlone {
    std::vector<ValueId> values;
    std::uint32_t bits;
    static constexpr Tiling tiling = Tiling::Runs;
};

struct CountMagnitude {
    ValueId value;
    std::uint32_t bits;
    static constexpr Tiling tiling = Tiling::Runs;
};

/// Finds the index in the tensor of the n-th element of a magnitude; 0 if there are fewer.
struct FindMagnitude {
    ValueId value;
    std::uint32_t bits;
    std::uint64_t ordinal;  ///< n, from 1
    static constexpr Tiling tiling = Tiling::Runs;
};

/// The Kullback-Leibler divergence of softmax(value) from softmax(base), for each row.
struct Divergence {
    ValueId value, base;
    static constexpr Tiling tiling = Tiling::Runs;
};

/// Number of elements above 0, minus the number below 0.
struct Signs {
    ValueId value;
    static constexpr Tiling tiling = Tiling::Runs;
};

/// Results, in the order of `DifferenceNumber`.
struct Difference {
    ValueId a, b;
    /// False compares only bits.
    bool numbers;
    /// False skips blocks of equal bytes, whose results are then 0.
    bool equalBlocks;
    static constexpr Tiling tiling = Tiling::Runs;
};

/// Sums and maximum cover elements that are finite in both. `First` compares bits if dtypes are equal,
/// otherwise numbers.
enum class DifferenceNumber : std::uint8_t {
    OtherBits,       ///< elements whose bits differ; 0 if the dtypes differ
    Unequal,         ///< elements that differ as numbers: +0 equals −0, and NaN equals NaN
    NonFinite,       ///< elements at which a, b or the difference is NaN or infinite
    Largest,         ///< max |a − b|
    Absolute,        ///< Σ |a − b|
    Squares,         ///< Σ (a − b)²
    SquaresOfFirst,  ///< Σ a²
    First,           ///< 1 + index in the tensor of the first element that differs; 0: no difference
};
inline constexpr std::size_t kDifferenceNumbers = 8;

using Measure =
    std::variant<Gram, RowGram, ColumnGram, Magnitudes, RowMagnitudes, ColumnMagnitudes, ColumnSums, Overlaps,
                 NonFinite, Histogram, CountAlone, CountMagnitude, FindMagnitude, Divergence, Signs,
                 Difference>;

/// A block of whole rows, and measures with one tiling.
struct Measurement {
    Program program;
    std::vector<Measure> measures;
};

std::size_t sizeOf(const Measure& measure, const Program& program);

Tiling tilingOf(const Measure& measure);

/// Measures a block. Sums are float64, in an order that depends only on the block. Reads sources once, or
/// twice to search the watched values if sums are not finite.
///
/// @param out for each measure, `sizeOf` zeros
Status measure(const Kernels& kernels, const Measurement& measurement, std::span<const std::span<double>> out,
               Control control);

}  // namespace layerloom
