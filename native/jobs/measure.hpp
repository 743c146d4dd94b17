#pragma once
#include <span>
#include <variant>

#include "program.hpp"

namespace layerloom {

/// Rules for cutting a block into tiles. Part of the numeric contract: sums of float32 products, and lanes,
/// begin anew with each tile or row of it. Tiles are whole rows where the program needs them.
enum class Tiling : std::uint8_t {
    Runs,      ///< 1024 elements, wherever rows end: those of all values share the L1 cache
    LongRuns,  ///< the same of 4096
    Rows,  ///< whole rows of together at most 4096 elements, or pieces of one row of 4096 and what remains;
           ///< others where no sum depends on it
};

// Measures of values of a program over a block of whole rows. A new measure is a struct here, a
// reader in addon/decode_measure.cpp, a `check` in check_measure.cpp and a `sizeOf` and an accumulator in
// measures/: the compiler names those that are missing.

/// Σ xᵢxⱼ for pairs i ≤ j of the values, in order. Products are float32; those of a block of finite numbers whose
/// sums overflow in it are float64.
struct Gram {
    std::vector<ValueId> values;
    static constexpr Tiling tiling = Tiling::Runs;
};

/// The same for each row of the block.
struct RowGram {
    std::vector<ValueId> values;
    static constexpr Tiling tiling = Tiling::LongRuns;
};

/// The same for each column, summed over the block's rows.
struct ColumnGram {
    std::vector<ValueId> values;
    static constexpr Tiling tiling = Tiling::Runs;
};

/// Σ |x|.
struct Magnitudes {
    ValueId value;
    static constexpr Tiling tiling = Tiling::Runs;
};

/// The same for each row of the block.
struct RowMagnitudes {
    ValueId value;
    static constexpr Tiling tiling = Tiling::Rows;
};

/// The same for each column, summed over the block's rows.
struct ColumnMagnitudes {
    ValueId value;
    static constexpr Tiling tiling = Tiling::Rows;
};

/// Σ x for each column, over the block's rows, each value widened to float64.
struct ColumnSums {
    ValueId value;
    static constexpr Tiling tiling = Tiling::Rows;
};

/// For each pair i ≤ j of the values, in order: Σ xᵢxⱼ, elements where neither is 0, those of them with one
/// sign (both 0 for i = j). Beside RowMagnitudes or ColumnMagnitudes of each value: where these are not all
/// finite, values that are not count as 0.
struct Overlaps {
    std::vector<ValueId> values;
    static constexpr Tiling tiling = Tiling::Rows;
};

/// Elements that are no finite numbers: of `base`; and of each expert, those too whose difference from a
/// finite base is none. Beside RowMagnitudes or ColumnMagnitudes of each difference: counted where these are
/// not all finite.
struct NonFinite {
    ValueId base;
    std::vector<ValueId> experts, differences;
    static constexpr Tiling tiling = Tiling::Rows;
};

/// Magnitudes within a window, in bins; how many are above it, and how many have each candidate's.
struct Histogram {
    ValueId value;
    Window window;
    /// One for each bin at least; threads share them and add to them.
    std::span<std::uint32_t> counts;
    static constexpr Tiling tiling = Tiling::Runs;
};

/// Counts the elements that have a magnitude.
struct CountMagnitude {
    ValueId value;
    std::uint32_t bits;
    static constexpr Tiling tiling = Tiling::Runs;
};

/// The index in the tensor of the n-th element with a magnitude; 0 where the block has fewer.
struct FindMagnitude {
    ValueId value;
    std::uint32_t bits;
    std::uint64_t ordinal;  ///< n, from 1 on
    static constexpr Tiling tiling = Tiling::Runs;
};

/// For each row the Kullback-Leibler divergence of softmax(value) from softmax(base).
struct Divergence {
    ValueId value, base;
    static constexpr Tiling tiling = Tiling::Runs;
};

/// Elements above 0 less those below.
struct Signs {
    ValueId value;
    static constexpr Tiling tiling = Tiling::Runs;
};

/// Differences of two values: numbers in the order of `DifferenceNumber`.
struct Difference {
    ValueId a, b;
    /// The elements are numbers. Else their bits alone are compared.
    bool numbers;
    /// A block whose bytes are equal is measured too. Else it is found to be equal before any arithmetic, and
    /// its numbers are 0.
    bool equalBlocks;
    static constexpr Tiling tiling = Tiling::Runs;
};

/// What `Difference` finds. Sums, the largest and the norm are over elements that are finite in both.
enum class DifferenceNumber : std::uint8_t {
    OtherBits,       ///< elements whose bits differ; 0 where the dtypes do
    Unequal,         ///< elements that differ as numbers: zeros are equal, and so are two NaN
    NonFinite,       ///< elements that are not finite in a or in b, or whose difference is not
    Largest,         ///< max |a − b|
    Absolute,        ///< Σ |a − b|
    Squares,         ///< Σ (a − b)²
    SquaresOfFirst,  ///< Σ a²
    First,           ///< 1 + the index in the tensor of the first element that differs, 0: none
};
inline constexpr std::size_t kDifferenceNumbers = 8;

using Measure =
    std::variant<Gram, RowGram, ColumnGram, Magnitudes, RowMagnitudes, ColumnMagnitudes, ColumnSums, Overlaps,
                 NonFinite, Histogram, CountMagnitude, FindMagnitude, Divergence, Signs, Difference>;

/// A block of whole rows of a tensor, and what to find of values of a program over it: measures of one
/// tiling.
struct Measurement {
    Program program;
    std::vector<Measure> measures;
};

/// Returns the count of numbers that a measure of a block finds.
std::size_t sizeOf(const Measure& measure, const Program& program);

Tiling tilingOf(const Measure& measure);

/// Measures a block on the calling thread. Sums are float64, in an order that the block alone decides. Every
/// byte of a source is read once, or more often where sums are not finite: the program's watched values are looked
/// at then.
///
/// @param out for each measure `sizeOf` zeros
Status measure(const Kernels& kernels, const Measurement& measurement, std::span<const std::span<double>> out,
               Control control);

}  // namespace layerloom
