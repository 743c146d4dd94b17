#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "../kernels/linear.hpp"
#include "sources.hpp"

namespace layerloom {

/// What a value of a program is. Values are numbered: the sources first, then the nodes in order.
enum class NodeKind : std::uint8_t {
    Linear,     ///< Σ numbers[i] · input[i], by the numeric contract
    RowLinear,  ///< the same with weights of their own for each row (numbers: a RowSense): table [row][input]
    Keep,       ///< input 0 where input 1 is between two bounds (numbers: lower, upper, scale), else 0
    Drop,  ///< input 0 where a random number is below a probability (numbers: key, probability, scale), else
           ///< 0
    DropRanked,  ///< the same, the probability rising with the rank in the row (numbers: key, lowest,
                 ///< highest, scale)
    Vote,  ///< input 0 + the combined others (numbers: elects, weighted, tiePositive, divisor, least, scale,
           ///< weights)
    Variance,    ///< of the inputs
    NearSwap,    ///< of inputs 0 and 1 (numbers: t)
    Importance,  ///< |input 0 − input 1| · table[row]
    Select,      ///< rows of input 0 where table[row] is 1, else of input 1 (numbers: a RowSense)
};

inline constexpr std::int64_t kNodeKinds = 10;

struct Node {
    NodeKind kind;
    DType dtype;  ///< what the value is rounded to; all but Linear, RowLinear and Select compute in float32
    std::vector<std::uint32_t> inputs;
    std::vector<double> numbers;
    /// Numbers of rows, from row `tableRow` on.
    std::vector<double> table;
    std::uint64_t tableRow = 0;
};

/// How a tensor comes about, elementwise: what nested recipes, sparsifiers and votes compile to.
struct Program {
    std::vector<Range> sources;  ///< each from element `first` of the tensor on
    std::vector<Node> nodes;     ///< at least one
    std::uint64_t first = 0;     ///< of the slice at hand
    std::uint64_t count = 0;
    std::uint64_t columns = 1;  ///< elements of a row: along the last dimension

    /// Of a source or a node.
    DType dtypeOf(std::uint32_t value) const;
    /// Whether a node looks at whole rows: `first` and `count` are then multiples of `columns`.
    bool needsRows() const;
    std::uint64_t bytesRead(std::uint64_t elements) const;
};

/// Sorts rows: by radix, from the lowest digit on, in O(n).
class Sorted {
  public:
    /// Magnitude and index (the lower 32 bits) of each element, smallest first, equal ones by index; until
    /// the next row.
    std::span<const std::uint64_t> magnitudes(std::span<const float> x);

  private:
    std::vector<std::uint64_t> from_, to_;
};

/// Evaluates a program tile by tile. Private memory is a tile for each node, whatever the tensor's size.
class Evaluator {
  public:
    /// @param windows the program's sources, mapped
    Evaluator(const Kernels& kernels, const Program& program, const Windows& windows);

    /// Elements to compute at a time, at most; whole rows where the program needs them.
    std::size_t step(std::size_t wanted) const;

    /// Computes every node for elements [begin, begin + count) of the slice.
    /// @param places for each node where it goes, or null: then it is kept here; none where all are
    void compute(std::size_t begin, std::size_t count, std::span<std::byte* const> places);

    /// A value of the elements last computed, in its dtype.
    Source value(std::uint32_t id) const;
    /// The same in float32, widened where it is not.
    const float* floats(std::uint32_t id);

  private:
    struct Buffer {
        std::unique_ptr<std::byte[]> bytes;
        std::size_t capacity = 0;
        std::byte* of(std::size_t size);
    };

    /// Where a node's value goes that is wanted elsewhere, or null.
    std::byte* placeOf(std::size_t node) const;
    /// Of a node's inputs, until it is asked for another's.
    const float* const* allFloats(const Node& node);
    void evaluate(const Node& node, Sink sink, bool isKept);
    void evaluateFloats(const Node& node, float* out);
    void rowLinear(const Node& node, Sink sink);
    void columnLinear(const Node& node, Sink sink);
    void vote(const Node& node, Sink sink);
    void dropRanked(const Node& node, float* out);
    void select(const Node& node, Sink sink);
    std::size_t tableIndex(const Node& node, std::uint64_t row) const;
    /// Calls work(row of the tensor, first column, offset in the tile, length) for each piece of a row in the
    /// tile.
    template <class Work>
    void forEachRow(const Work& work) const;

    const Kernels& kernels_;
    const Program& program_;
    const Windows& windows_;
    std::vector<Buffer> values_;  ///< of nodes
    /// Of nodes that drop by rank: for each rank, the words below its probability.
    std::vector<std::vector<std::uint64_t>> below_;
    std::vector<Buffer> widened_;  ///< of values that are not float32
    std::vector<bool> isWidened_;
    Buffer rounded_, randoms_, columns_;
    Sorted sorted_;
    std::span<std::byte* const> places_;
    /// Kept from tile to tile, so that none allocates.
    std::vector<Source> sources_;
    std::vector<const float*> floats_;
    std::vector<float> weights_;
    std::size_t begin_ = 0, count_ = 0;
};

}  // namespace layerloom
