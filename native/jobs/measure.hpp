#pragma once
#include <span>
#include <variant>

#include "program.hpp"

namespace layerloom {

/// Rules for cutting a block into tiles. Part of the numeric contract: sums of float32 products, and lanes,
/// restart with each tile or row. Tiles are whole rows if the program needs them.
enum class Tiling : std::uint8_t {
    Runs,      ///< 1024 elements, ignoring rows: those of all values share the L1 cache
    LongRuns,  ///< the same with 4096
    Rows,  ///< whole rows of up to 4096 elements in total, or pieces of 4096 of one row;
           ///< other sizes where no sum depends on it
};

// Measures of a program's values over a block of whole rows. A new measure is a struct here, a reader in
// addon/decode_measure.cpp, a `check` in check_measure.cpp, and a `sizeOf` and an accumulator in measures/.
// The compiler names missing ones.

/// Σ xᵢxⱼ for pairs i ≤ j of the values, in order. Products are float32, or float64 if the sums of a finite
/// block overflow.
struct Gram {
    std::vector<ValueId> values;
    static constexpr Tiling tiling = Tiling::Runs;
};

/// `Gram` for each row of the block.
struct RowGram {
    std::vector<ValueId> values;
    static constexpr Tiling tiling = Tiling::LongRuns;
};

/// `Gram` for each column, over the block's rows.
struct ColumnGram {
    std::vector<ValueId> values;
    static constexpr Tiling tiling = Tiling::Runs;
};

/// Σ |x|.
struct Magnitudes {
    ValueId value;
    static constexpr Tiling tiling = Tiling::Runs;
};

/// Σ |x| for each row of the block.
struct RowMagnitudes {
    ValueId value;
    static constexpr Tiling tiling = Tiling::Rows;
};

/// Σ |x| for each column, over the block's rows.
struct ColumnMagnitudes {
    ValueId value;
    static constexpr Tiling tiling = Tiling::Rows;
};

/// Σ x for each column, over the block's rows, widened to float64.
struct ColumnSums {
    ValueId value;
    static constexpr Tiling tiling = Tiling::Rows;
};

/// For each pair i ≤ j of the values, in order: Σ xᵢxⱼ, the number of elements at which neither is 0, and how
/// many of those have equal signs (both 0 for i = j). Needs RowMagnitudes or ColumnMagnitudes of each value;
/// where these are not all finite, NaN and infinity count as 0.
struct Overlaps {
    std::vector<ValueId> values;
    static constexpr Tiling tiling = Tiling::Rows;
};

/// Counts NaN and infinity: in `base`, then in each expert, including overflowed differences from a finite
/// base. Needs RowMagnitudes or ColumnMagnitudes of each difference; counts where these are not all finite.
struct NonFinite {
    ValueId base;
    std::vector<ValueId> experts, differences;
    static constexpr Tiling tiling = Tiling::Rows;
};

/// Magnitudes within a window, in bins; how many are above it, and how many equal each candidate.
struct Histogram {
    ValueId value;
    Window window;
    /// At least an element for each bin; threads share them and add to them.
    std::span<std::uint32_t> counts;
    static constexpr Tiling tiling = Tiling::Runs;
};

/// Counts the elements of a magnitude.
struct CountMagnitude {
    ValueId value;
    std::uint32_t bits;
    static constexpr Tiling tiling = Tiling::Runs;
};

/// Index in the tensor of the n-th element of a magnitude; 0 if the block has fewer.
struct FindMagnitude {
    ValueId value;
    std::uint32_t bits;
    std::uint64_t ordinal;  ///< n, from 1
    static constexpr Tiling tiling = Tiling::Runs;
};

/// For each row, the Kullback-Leibler divergence of softmax(value) from softmax(base).
struct Divergence {
    ValueId value, base;
    static constexpr Tiling tiling = Tiling::Runs;
};

/// Number of elements above 0 minus number below 0.
struct Signs {
    ValueId value;
    static constexpr Tiling tiling = Tiling::Runs;
};

/// Differences of two values: numbers in the order of `DifferenceNumber`.
struct Difference {
    ValueId a, b;
    /// False compares only bits.
    bool numbers;
    /// False compares bytes first: if a block's bytes are equal, its numbers are 0.
    bool equalBlocks;
    static constexpr Tiling tiling = Tiling::Runs;
};

/// Results of `Difference`. Sums and maximum cover elements that are finite in both.
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
                 NonFinite, Histogram, CountMagnitude, FindMagnitude, Divergence, Signs, Difference>;

/// A block of whole rows of a tensor, and measures of one tiling over a program's values.
struct Measurement {
    Program program;
    std::vector<Measure> measures;
};

/// Returns how many numbers a measure of a block returns.
std::size_t sizeOf(const Measure& measure, const Program& program);

Tiling tilingOf(const Measure& measure);

/// Measures a block on the calling thread. Sums are float64, in an order that depends only on the block.
/// Reads each source byte once, or again if sums are not finite, to check the watched values.
///
/// @param out for each measure `sizeOf` zeros
Status measure(const Kernels& kernels, const Measurement& measurement, std::span<const std::span<double>> out,
               Control control);

}  // namespace layerloom
