#pragma once
#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "../kernels/linear.hpp"
#include "dequantiser.hpp"
#include "factored.hpp"
#include "fused_votes.hpp"
#include "product.hpp"
#include "program.hpp"
#include "quantiser.hpp"
#include "ranks.hpp"
#include "unpacker.hpp"

namespace layerloom {

/// Calls work(row, first column, offset, length) for each piece of a row among elements [first, first +
/// count) of a matrix.
template <class Work>
void forEachRow(std::uint64_t first, std::size_t count, std::uint64_t columns, const Work& work) {
    for (std::size_t at = 0; at < count;) {
        const auto column = static_cast<std::size_t>((first + at) % columns);
        const std::size_t length = std::min<std::uint64_t>(count - at, columns - column);
        work(static_cast<std::size_t>((first + at) / columns), column, at, length);
        at += length;
    }
}

/// Evaluates a program tile by tile. Private memory is one tile for each node. Watched values are checked
/// while their tile is in the cache.
class Evaluator {
  public:
    Evaluator(const Kernels& kernels, const Program& program, const Windows& windows)
        : Evaluator(kernels, program, windows, FusedVotes(program)) {}
    /// @param fusedVotes nodes that it skips are not computed: do not ask for their values
    Evaluator(const Kernels& kernels, const Program& program, const Windows& windows, FusedVotes fusedVotes);

    /// Returns how many elements to compute at once: whole rows if a node needs them.
    std::size_t step(std::size_t wanted) const;

    /// Computes all nodes for elements [begin, begin + count) of the slice.
    ///
    /// @param places outputs of nodes, or null
    void compute(std::size_t begin, std::size_t count, std::span<std::byte* const> places);

    /// Computes and checks the watched values of the current tile.
    void look();

    /// The first NaN or infinity of each watched value so far.
    std::vector<NonFiniteElement>& nonFinite() { return nonFinite_; }

    /// Starts tallying the bounds of the program's fused vote, if it has one.
    void tally();
    /// Returns each term's tallies. `tallied` is the number of tallied elements. Only tiles whose values are
    /// all finite count.
    std::span<const Tallies> tallies() const { return tallies_; }
    std::uint64_t tallied() const { return tallied_; }

    /// Returns the scales of a quantising node for the last tile.
    std::span<const float> scalesOf(std::size_t node) const;

    /// Moves to elements [begin, begin + count) of the slice, whose nodes are then computed on demand.
    void moveTo(std::size_t begin, std::size_t count);

    Source value(ValueId id);
    const float* floats(ValueId id);

    /// A value as the weighted terms of a sum, for kernels: sources of one dtype, beginning at the tile's
    /// element `from`. Valid until the next call.
    struct Sum {
        Terms terms;
        DType dtype;
    };
    /// Returns a node's sum without computing the node, if kernels accept it; otherwise a sum of its value.
    Sum sum(ValueId id, std::size_t from);

    struct DrawnSum {
        Sum sum;
        std::optional<Draw> draw;
        float scale;
    };
    /// Like `sum`. If `id` is a drop (DARE) that is not yet computed, returns the sum of its input, with the
    /// draw and scale. Kernels then drop elements while they read.
    DrawnSum drawnSum(ValueId id, std::size_t from);
    /// Returns the index in the tensor of the tile's first element.
    std::uint64_t firstElement() const { return program_.first + begin_; }

  private:
    struct Buffer {
        std::unique_ptr<std::byte[]> bytes;
        std::size_t capacity = 0;
        std::byte* of(std::size_t size);
        float* floats(std::size_t count) { return reinterpret_cast<float*>(of(count * sizeof(float))); }
    };

    struct Work {
        const Node& node;
        std::size_t index;
        Sink sink;
        bool isKept;  ///< in a buffer of the evaluator, which is aligned
    };

    /// Tables that operations make at the first tile.
    struct Prepared {
        std::vector<std::uint64_t>
            words;                   ///< DropRanked: words below this, by rank, keep their element
        std::vector<float> weights;  ///< RowLinear by columns: [input][column]
        std::vector<std::uint8_t>
            mask;  ///< Select by columns: for each byte of a row, ones if it is from input 0
        std::vector<std::byte> row;  ///< FillRows: the row, rounded
        std::unique_ptr<ProductRows> product;
        std::unique_ptr<Dequantiser> dequantiser;
        std::unique_ptr<Quantiser> quantiser;
        std::unique_ptr<Unpacker> unpacker;
        std::unique_ptr<FactoredRows> factored;
        std::unique_ptr<TurnedRows> turned;
    };

    void need(ValueId id);
    template <class Visit>
    void forEachInput(std::size_t node, const Visit& visit) const;
    /// Like `value`, for values that are already computed.
    Source found(ValueId id) const;
    const float* widened(ValueId id);

    void evaluate(std::size_t node);
    void evaluate(const Linear& linear, const Work& work);
    void evaluate(const RowLinear& linear, const Work& work);
    void evaluate(const Keep& keep, const Work& work);
    void evaluate(const Drop& drop, const Work& work);
    void evaluate(const DropRanked& drop, const Work& work);
    void evaluate(const Random& random, const Work& work);
    void evaluate(const Vote& vote, const Work& work);
    void evaluate(const Vote& vote, const FusedVote& fused, const Work& work);
    void evaluate(const Variance& variance, const Work& work);
    void evaluate(const NearSwap& nearSwap, const Work& work);
    void evaluate(const Fisher& fisher, const Work& work);
    void evaluate(const Importance& importance, const Work& work);
    void evaluate(const Select& select, const Work& work);
    void evaluate(const Assemble& assemble, const Work& work);
    void evaluate(const FillRows& fill, const Work& work);
    void evaluate(const CombineRows& combine, const Work& work);
    void evaluate(const Product& product, const Work& work);
    void evaluate(const Dequantise& what, const Work& work);
    void evaluate(const Quantise& what, const Work& work);
    void evaluate(const Unpack& what, const Work& work);
    void evaluate(const Factored& what, const Work& work);
    void evaluate(const Turned& what, const Work& work);

    /// Computes `linear` into a tile; notes whether results are finite.
    void sumInto(std::span<const Source> sources, std::span<const double> weights, Sink sink,
                 std::size_t count);
    void look(ValueId id);
    bool isFiniteAt(ValueId id, std::size_t i) const;
    ValueId causeOf(ValueId id, std::size_t i) const;
    /// Returns the source whose file explains a cause; otherwise the cause itself.
    ValueId storedCause(ValueId id) const;

    /// Calls fill(out) for float32, and rounds to the sink's dtype.
    template <class Fill>
    void inFloats(const Work& work, const Fill& fill);
    void linearByRows(const RowLinear& linear, const Work& work);
    void linearByColumns(const RowLinear& linear, const Work& work);
    /// Returns a node's output, or null.
    std::byte* placeOf(std::size_t node) const;
    /// Finds the tile of a source with permuted rows. If the tile is one run, it is used in place, otherwise
    /// copied.
    void gather(std::size_t source);
    const std::byte* dataOf(std::size_t node) const;
    /// True for float32 values that kernels may read in place.
    bool isAligned(ValueId id) const;
    /// Uses the input's tile as the node's, unless the node is an output.
    bool standsFor(const Work& work, ValueId input);
    /// Valid until the next call.
    const float* const* allFloats(const Node& node);
    const std::uint32_t* randoms(std::uint64_t key);
    std::size_t columns() const { return static_cast<std::size_t>(program_.columns); }

    const Kernels& kernels_;
    const Program& program_;
    const Windows& windows_;
    const FusedVotes fusedVotes_;
    std::vector<Buffer> values_;              ///< for each node
    std::vector<const std::byte*> standIns_;  ///< for each node: an input's tile used in its place, or null
    /// A source with permuted rows: its tile, memory for a copy, and the first element of its window.
    struct Gathered {
        const std::byte* tile = nullptr;
        Buffer copied;
        std::uint64_t begin = 0;
    };
    std::vector<Gathered> gathered_;
    std::vector<Prepared> prepared_;  ///< for each node
    std::vector<bool> isComputed_;    ///< for each node
    std::vector<bool> isNeeded_;      ///< for each node, during `need`
    std::vector<Buffer> widened_;     ///< float32 of values of other dtypes
    std::vector<bool> isWidened_;
    std::vector<bool> isWatched_;  ///< for each value: until a NaN or infinity is found
    std::vector<bool> isPruned_;   ///< for each source: a fused vote reads it, and checks it for NaN
    std::vector<bool> isProven_;   ///< for each source: finite in this tile, because a sum with it is
    std::vector<NonFiniteElement> nonFinite_;
    bool isTold_ = false;    ///< true if the current node sets `isFinite_`
    bool isFinite_ = false;  ///< true if the current node's tile is finite
    Buffer rounded_, randoms_;
    Ranks ranks_;
    std::span<std::byte* const> places_;
    /// Reused by all tiles to avoid allocation.
    std::vector<Source> sources_;
    std::vector<const float*> floats_;
    std::vector<const std::byte*> terms_;
    std::vector<float> weights_;
    std::vector<PrunedSource> pruned_;
    std::vector<Tallies> tallies_;
    std::uint64_t tallied_ = 0;
    std::size_t begin_ = 0, count_ = 0;
};

}  // namespace layerloom
