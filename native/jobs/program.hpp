#pragma once
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "../kernels/kernels.hpp"
#include "sources.hpp"

namespace layerloom {

/// Returns how many 32-bit words are below a share of their range.
std::uint64_t wordsBelow(double probability);

/// Number of a value: first the sources, then the nodes, in order.
using ValueId = std::uint32_t;

// Operations of nodes; docs/architecture.md says how to add one. All compute in float32, except Linear,
// RowLinear, and operations that copy bits.

/// Σ weights[i]·input[i], as in docs/numbers.md.
struct Linear {
    std::vector<double> weights;
};

/// Like Linear, with weights for each row.
struct RowLinear {
    Rows rows;
    std::vector<double> weights;  ///< [row of the tensor][input]
};

/// Input 0·scale if the magnitude of input 1 is above `lower` and not above `upper`, else 0.
struct Keep {
    Bound lower, upper;
    float scale;
};

/// Input 0·scale if the element's random number is below the probability, otherwise 0.
struct Drop {
    std::uint64_t key;  ///< selects the random numbers
    double probability;
    float scale;

    /// Returns nothing if no element is kept.
    std::optional<Draw> draw() const;
};

/// Like Drop, with a probability that rises with the magnitude's rank in its row, from `lowest` to `highest`.
struct DropRanked {
    std::uint64_t key;
    double lowest, highest;
    float scale;
};

/// A random number·scale: standard normal, or uniform between −1 and 1. All 0 if the scale is 0.
struct Random {
    enum class Distribution : std::uint8_t { Normal, Uniform };
    std::uint64_t key;
    Distribution distribution;
    float scale;
};

/// Input 0 plus a combination of the other inputs, which are changes from it.
struct Vote {
    VoteRule rule;
    std::vector<float> weights;  ///< for each input except the first; if `rule.each`, twice
};

/// The population variance of the inputs.
struct Variance {};

/// Input 0 moved towards input 1 by at most t.
struct NearSwap {
    float t;
};

/// The weighted mean of the first half of the inputs; the second half are their importances.
struct Fisher {
    std::vector<float> weights;  ///< [input of the first half]
    float eps;                   ///< added to each importance
};

/// |input 0 − input 1| · the divergence of the row.
struct Importance {
    std::vector<double> divergences;  ///< [row of the tensor]
};

/// Copies bits of rows: of input 0 if `kept` is not 0, otherwise of input 1.
struct Select {
    Rows rows;
    std::vector<std::uint8_t> kept;  ///< [row of the tensor]
};

/// Rows [to, to + count) are from this input.
struct InputRun {
    std::uint64_t to, input, count;
};

/// Copies bits of rows from inputs. Rows in no run are 0.
struct Assemble {
    std::uint64_t width;         ///< elements of a row
    std::vector<InputRun> runs;  ///< the slice's, ascending, disjoint and within its rows
};

/// Copies bits of input 0, except that rows from `from` on are `values`, rounded.
struct FillRows {
    std::uint64_t from;
    std::vector<double> values;  ///< [column]
};

/// Computes row r as Σ coefficient·row of a `Whole` source, over terms starts[r] to starts[r + 1], in
/// order, in float64, rounded to float32.
struct CombineRows {
    struct Term {
        std::uint64_t row;
        double coefficient;
    };
    std::uint64_t width;               ///< elements of a row
    std::uint64_t first;               ///< the output row of starts[0]
    std::vector<std::uint64_t> starts;  ///< for the slice's rows, then the end of the last; begins at 0
    std::vector<Term> terms;           ///< the slice's
};

/// B·A of A [rank, in] and B [out, rank], or its transpose, by the numeric contract. With several experts,
/// their consecutive matrices, from row `row` on. A is then [experts][rank][in]; B is [out][rank][experts],
/// or [out][experts][rank] if grouped. Inputs are `Whole`.
struct Product {
    std::uint64_t rank;
    bool transposed;
    std::uint64_t experts;
    std::uint64_t row;
    bool grouped;
};

/// Codes of consecutive matrices. Rows are `stride` codes apart.
struct Codes {
    enum class Kind : std::uint8_t {
        F8_E4M3,
        F8_E5M2,
        I8,    ///< two's complement
        U8,    ///< offset of 128
        E2M1,  ///< four bits, as are the following
        U4,    ///< offset of 8
        NF4,   ///< bitsandbytes' tables
        FP4,
    };
    enum class Order : std::uint8_t {
        Across,       ///< along rows; of two 4-bit codes in a byte, the lower bits first
        Swapped,      ///< along rows, the upper four bits of a byte first
        Interleaved,  ///< along rows, eight to a word: columns 0, 2, 4, 6, 1, 3, 5, 7 from the lowest bits
        Down,  ///< 32-bit words hold codes of consecutive rows in one column
    };

    Kind kind;
    Order order;
    std::uint64_t rows, columns, stride;

    std::uint64_t bits() const { return kind < Kind::E2M1 ? 8 : 4; }
    std::uint64_t inWord() const { return 32 / bits(); }
};

/// Computes (decoded code − zero point)·scale in float32; each block of codes has one scale. All inputs are
/// `Whole`, in this order: codes, as bytes; scales [matrix][row of blocks][column of blocks]; then those
/// present of: a factor of all scales, zero points, groups, numbers and scales of nested scales. Blocks do
/// not cross matrices.
struct Dequantise {
    enum class Scales : std::uint8_t {
        Floats,     ///< values of their dtype
        Exponents,  ///< bytes e that mean 2^(e − 127); 255 is NaN
        Nested,     ///< bytes that index 256 numbers, times a scale, plus an offset
    };
    /// How a factor is applied to scales, which are then rounded to float32.
    enum class Factor : std::uint8_t { None, Times, Divisor };
    /// A zero point for each block, as a matrix of codes.
    struct ZeroPoints {
        Codes codes;
        bool oneMore;  ///< adds one to the stored code; the largest code becomes the smallest
    };
    struct NestedScales {
        std::uint64_t block;  ///< number of scales with a common scale
        float offset;
    };

    Codes codes;
    Scales scales;
    Factor factor;
    std::uint64_t blockRows, blockColumns;
    bool transposed;  ///< the output has each matrix transposed
    std::optional<ZeroPoints> zeros;
    /// True if an input (little-endian 32-bit integers, GPTQ's `g_idx`) gives the group of each input
    /// feature: a column, or a row if transposed. Otherwise groups are consecutive. A group out of range
    /// gives NaN.
    bool hasGroups;
    std::optional<NestedScales> nested;
    float after;  ///< factor of the products, which are then rounded again

    std::size_t inputs() const {
        return 2 + (factor != Factor::None) + zeros.has_value() + hasGroups + 2 * nested.has_value();
    }
};

/// Quantises in blocks of rows and columns, cut at the matrix's edges. A block's scale comes from its largest
/// magnitude. The result is decoded float32, or codes as bytes, labelled with a one-byte dtype.
struct Quantise {
    enum class Scheme : std::uint8_t {
        Float8,  ///< F8_E4M3: values · scale, scale 448 · (1 / largest); stores the inverse
        Int8,    ///< values / scale, scale largest / 127.5
        Int4,    ///< Int8 with 7.5
        Mxfp4,   ///< E2M1, scaled by powers of two
        Nvfp4,   ///< E2M1, scaled by F8_E4M3 and a factor derived from `largest`
    };

    Scheme scheme;
    bool codes;
    std::uint64_t rows;  ///< of the matrix
    std::uint64_t blockRows, blockColumns;
    float largest;  ///< largest magnitude in the matrix, for Nvfp4

    std::uint64_t across(std::uint64_t columns) const { return (columns + blockColumns - 1) / blockColumns; }
};

/// Unpacks GGUF's blocks to float32. The input is `Whole`, in bytes.
struct Unpack {
    enum class Type : std::uint8_t { F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K, Q6_K };

    Type type;
    std::uint64_t width;  ///< elements of a row
    /// Number of rows of an attention head whose halves the file interleaves: 0, h/2, 1, h/2 + 1, …; 0 if
    /// rows are in order.
    std::uint64_t head;
    float plus;  ///< added to each value; 0 adds nothing

    std::uint64_t block() const { return type < Type::Q4_0 ? 1 : type < Type::Q4_K ? 32 : 256; }
    std::uint64_t blockBytes() const {
        constexpr std::uint64_t bytes[] = {4, 2, 2, 18, 20, 22, 24, 34, 144, 176, 210};
        return bytes[static_cast<std::size_t>(type)];
    }
    std::uint64_t storedRow(std::uint64_t row) const {
        if (head == 0) return row;
        const std::uint64_t in = row % head, half = head / 2;
        return row - in + in % half * 2 + in / half;
    }
};

/// A matrix: its elements or, if `rank` is above 0, those of factors [rows, rank] and [rank, columns].
struct SmallMatrix {
    std::uint64_t rows, columns, rank;
    std::vector<double> numbers;
};

/// A small matrix, or two multiplied: elementwise, or as a Kronecker product. Computed in float64, rounded to
/// float32. Has no inputs.
struct Factored {
    bool kronecker;
    std::vector<SmallMatrix> factors;
};

/// Multiplies the input's rows by an orthogonal matrix, in float64, rounded to float32. Slices are whole
/// rows.
struct Turned {
    /// Columns of a block; 0 for reflections.
    std::uint64_t size;
    /// Blocks [size, size], used in turn; or unit vectors [vector][column], at which rows are reflected in order.
    std::vector<double> numbers;
    /// Each column's place among the blocks; empty if columns are in order.
    std::vector<double> order;

    std::size_t place(std::size_t column) const { return static_cast<std::size_t>(order[column]); }
};

using NodeOperation =
    std::variant<Linear, RowLinear, Keep, Drop, DropRanked, Random, Vote, Variance, NearSwap, Fisher, Importance,
                 Select, Assemble, FillRows, CombineRows, Product, Dequantise, Quantise, Unpack, Factored, Turned>;

/// True if inputs must be `Slicing::Whole` sources.
bool takesWhole(const NodeOperation& operation);

/// True for operations that copy their inputs' bits.
bool takesBits(const NodeOperation& operation);

struct Node {
    NodeOperation operation;
    DType dtype;  ///< the value is rounded to it
    std::vector<ValueId> inputs;
};

/// Computes a slice of a tensor, element by element. Nested recipes, sparsifiers and votes compile to
/// programs.
struct Program {
    std::vector<StoredSource> sources;
    std::vector<Node> nodes;
    std::uint64_t first;    ///< the slice's first element in the tensor
    std::uint64_t count;
    std::uint64_t columns;  ///< elements of a row, along the last dimension
    /// Values to check for NaN and infinity; none of them is `Whole`.
    std::vector<ValueId> watched;
    Access access = Access::Sequential;

    DType dtypeOf(ValueId value) const;
    bool isWhole(ValueId value) const;
    /// Returns how many rows form a group, counted from the tensor's first row; 0 without groups. Slices are
    /// whole groups, except at the tensor's end.
    std::uint64_t rowsTogether() const;
    /// Returns the bytes of sources that elements [begin, begin + count) of the slice need.
    std::uint64_t bytesRead(std::uint64_t begin, std::uint64_t count) const;
    std::vector<Range> windows() const;
};

}  // namespace layerloom
