#pragma once
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "../kernels/kernels.hpp"
#include "sources.hpp"

namespace layerloom {

/// Numbers a value of a program: the sources first, then the nodes in order.
using ValueId = std::uint32_t;

// The operations that a node may be. A new one is a struct here, a reader in addon/decode_program.cpp, a
// `check` in check_program.cpp and an `evaluate` in evaluator.cpp: the compiler names those that are missing.
// All but Linear, RowLinear and those that take bits compute in float32.

/// Σ weights[i] · input[i], by the numeric contract.
struct Linear {
    std::vector<double> weights;
};

/// The same with weights of their own for each row.
struct RowLinear {
    Rows rows;
    std::vector<double> weights;  ///< [row of the tensor][input]
};

/// Input 0 · scale where the magnitude of input 1 is above `lower` and not above `upper`, else 0.
struct Keep {
    Bound lower, upper;
    float scale;
};

/// Input 0 · scale where the element's random number is below a probability, else 0.
struct Drop {
    std::uint64_t key;  ///< selects the random numbers
    double probability;
    float scale;
};

/// The same, the probability rising with the magnitude's rank in the row from `lowest` to `highest`.
struct DropRanked {
    std::uint64_t key;
    double lowest, highest;
    float scale;
};

/// A random number · scale for each element, without inputs: of a standard normal distribution, or of a uniform
/// one between −1 and 1. 0 where the scale is 0.
struct Random {
    enum class Distribution : std::uint8_t { Normal, Uniform };
    std::uint64_t key;
    Distribution distribution;
    float scale;
};

/// Input 0 + the combined others.
struct Vote {
    VoteRule rule;
    std::vector<float> weights;  ///< one for each input but the first
};

/// The population variance of the inputs.
struct Variance {};

/// Input 0 moved towards input 1, by at most t.
struct NearSwap {
    float t;
};

/// The mean of the first half of the inputs, each element weighted by the importance of the second half.
struct Fisher {
    std::vector<float> weights;  ///< [input of the first half]
    float eps;                   ///< added to each importance
};

/// |input 0 − input 1| · the row's divergence.
struct Importance {
    std::vector<double> divergences;  ///< [row of the tensor]
};

/// Rows of input 0 where `kept` is not 0, else of input 1. Bits are taken as they are, whatever the dtype.
struct Select {
    Rows rows;
    std::vector<std::uint8_t> kept;  ///< [row of the tensor]
};

/// Rows [to, to + count) are those of an input.
struct InputRun {
    std::uint64_t to, input, count;
};

/// Rows of one input each, as the runs say; 0 where there are none. Bits are taken as they are, whatever the
/// dtype.
struct Assemble {
    std::uint64_t width;         ///< elements of a row
    std::vector<InputRun> runs;  ///< the slice's, ascending and disjoint, none beyond its rows
};

/// Input 0, whose bits are taken as they are, but for the rows from `from` on: these are `values`, rounded.
struct FillRows {
    std::uint64_t from;
    std::vector<double> values;  ///< [column]
};

/// Sums of rows of a source that each slice needs wholly: row r of the output is Σ coefficient · row, of the
/// terms from starts[r] to starts[r + 1], in order, in float64 and rounded to float32. 0 where it has none.
struct CombineRows {
    struct Term {
        std::uint64_t row;
        double coefficient;
    };
    std::uint64_t width;               ///< elements of a row
    std::uint64_t first;               ///< the row of the output that `starts` begins with
    std::vector<std::uint64_t> starts;  ///< of the slice's rows, and the last one's end; counted from 0
    std::vector<Term> terms;           ///< the slice's
};

/// B·A, of A [rank, in] and B [out, rank], or its transpose: by the numeric contract. Of several experts it
/// is their matrices, one behind the other: A is [experts][rank][in] and B [out][rank][experts]. The node's
/// first row is `row` of these. Both inputs are sources that each slice needs wholly.
struct Product {
    std::uint64_t rank;
    bool transposed;
    std::uint64_t experts;
    std::uint64_t row;
};

/// How matrices of codes are written, one behind the other. A row is `stride` codes from the next.
struct Codes {
    enum class Kind : std::uint8_t {
        F8_E4M3,
        F8_E5M2,
        I8,    ///< two's complement
        U8,    ///< less 128
        E2M1,  ///< four bits, as are those below
        U4,    ///< less 8
        NF4,   ///< bitsandbytes' tables
        FP4,
    };
    enum class Order : std::uint8_t {
        Across,       ///< along rows, of four bits the lower ones of a byte first
        Swapped,      ///< along rows, the upper four bits of a byte first
        Interleaved,  ///< along rows, eight to a word: columns 0, 2, 4, 6, 1, 3, 5, 7 from its lowest bits on
        Down,  ///< words of 32 bits hold codes below each other; a row of words has one for each column
    };

    Kind kind;
    Order order;
    std::uint64_t rows, columns, stride;

    std::uint64_t bits() const { return kind < Kind::E2M1 ? 8 : 4; }
    /// Codes to a word of 32 bits.
    std::uint64_t inWord() const { return 32 / bits(); }
};

/// A quantised tensor in float32: the number that each code stands for, less the zero point of its block,
/// times its scale. Inputs are sources that each slice needs wholly: codes, taken for bytes; scales,
/// [matrix][row of blocks][column of blocks]; then, where there are such, a factor of all scales, zero
/// points, groups, and the numbers and scales of nested scales. Blocks begin anew with each matrix.
struct Dequantise {
    enum class Scales : std::uint8_t {
        Floats,     ///< of their dtype
        Exponents,  ///< bytes e that stand for 2^(e − 127); 255 is NaN
        Nested,     ///< bytes that stand for one of 256 numbers, times a scale, plus an offset
    };
    /// Scales are multiplied by the factor, or divided by it, and rounded to float32.
    enum class Factor : std::uint8_t { None, Times, Divisor };
    /// A zero point for each block, in codes of a matrix of blocks.
    struct ZeroPoints {
        Codes codes;
        bool oneMore;  ///< one more than is written; the largest stands for the smallest
    };
    struct NestedScales {
        std::uint64_t block;  ///< scales that share a scale
        float offset;
    };

    Codes codes;
    Scales scales;
    Factor factor;
    std::uint64_t blockRows, blockColumns;
    bool transposed;  ///< the output has each matrix transposed
    std::optional<ZeroPoints> zeros;
    /// Input features are in groups as little-endian numbers of 32 bits say, and not side by side: those are
    /// the columns, or the rows of a transposed tensor. A feature of no group that there is is NaN.
    bool hasGroups;
    std::optional<NestedScales> nested;
    float after;  ///< products are multiplied by it, and rounded again

    std::size_t inputs() const {
        return 2 + (factor != Factor::None) + zeros.has_value() + hasGroups + 2 * nested.has_value();
    }
};

/// A matrix quantised: blocks of rows and columns, cut at the matrix's edges, share a scale, which is made of
/// their largest magnitude. The result is what the codes stand for in float32, or the codes, a byte each: then
/// the node's dtype is one of a byte, whatever the codes are.
struct Quantise {
    enum class Scheme : std::uint8_t {
        Float8,  ///< F8_E4M3: scale 448 · (1 / largest), which values are multiplied by; its inverse is stored
        Int8,    ///< scale largest / 127.5, which values are divided by
        Int4,    ///< the same of 7.5
        Mxfp4,   ///< E2M1, scaled by powers of two
        Nvfp4,   ///< E2M1, scaled by F8_E4M3 and by a factor that follows from `largest`
    };

    Scheme scheme;
    bool codes;
    std::uint64_t rows;  ///< of the matrix
    std::uint64_t blockRows, blockColumns;
    float largest;  ///< magnitude of the matrix; Nvfp4 alone needs it

    /// Blocks side by side in a matrix of so many columns.
    std::uint64_t across(std::uint64_t columns) const { return (columns + blockColumns - 1) / blockColumns; }
};

/// A tensor that GGUF stores in blocks along rows, in float32. Its input is a source that each slice needs
/// wholly, taken for bytes.
struct Unpack {
    enum class Type : std::uint8_t { F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K, Q6_K };

    Type type;
    std::uint64_t width;  ///< elements of a row
    /// Rows of a head, whose two halves the file has in turns: rows 0, h/2, 1, h/2 + 1, …; 0: rows are in order.
    std::uint64_t head;
    float plus;  ///< added to each value; 0 adds nothing

    /// Elements of a block.
    std::uint64_t block() const { return type < Type::Q4_0 ? 1 : type < Type::Q4_K ? 32 : 256; }
    std::uint64_t blockBytes() const {
        constexpr std::uint64_t bytes[] = {4, 2, 2, 18, 20, 22, 24, 34, 144, 176, 210};
        return bytes[static_cast<std::size_t>(type)];
    }
    /// The row of the file that is a row of the output.
    std::uint64_t storedRow(std::uint64_t row) const {
        if (head == 0) return row;
        const std::uint64_t in = row % head, half = head / 2;
        return row - in + in % half * 2 + in / half;
    }
};

using NodeOperation =
    std::variant<Linear, RowLinear, Keep, Drop, DropRanked, Random, Vote, Variance, NearSwap, Fisher, Importance,
                 Select, Assemble, FillRows, CombineRows, Product, Dequantise, Quantise, Unpack>;

/// True for operations whose inputs are whole sources.
bool takesWhole(const NodeOperation& operation);

/// True for operations that take the bits of their inputs' elements as they are.
bool takesBits(const NodeOperation& operation);

struct Node {
    NodeOperation operation;
    DType dtype;  ///< the value is rounded to it
    std::vector<ValueId> inputs;
};

/// A recipe for a slice of a tensor, elementwise: nested recipes, sparsifiers and votes compile to it.
struct Program {
    std::vector<StoredSource> sources;
    std::vector<Node> nodes;
    std::uint64_t first;    ///< element of the tensor that the slice begins with
    std::uint64_t count;    ///< elements of the slice
    std::uint64_t columns;  ///< elements of a row: along the last dimension
    /// Values to look at for elements that are no finite numbers. None is whole.
    std::vector<ValueId> watched;

    /// The dtype of a source or a node.
    DType dtypeOf(ValueId value) const;
    /// True for a source that is whole in each slice, and so is no value of its elements.
    bool isWhole(ValueId value) const;
    /// Rows that a node looks at together, from the tensor's first on; 0 if none does. `first` is a multiple of
    /// as many elements, and `count` too where it does not end with the tensor.
    std::uint64_t rowsTogether() const;
    /// Bytes of all sources that elements [begin, begin + count) of the slice are made of.
    std::uint64_t bytesRead(std::uint64_t begin, std::uint64_t count) const;
    /// Windows of the slice, in the order of the sources.
    std::vector<Range> windows() const;
};

}  // namespace layerloom
