#pragma once
#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "../kernels/linear.hpp"
#include "dequantiser.hpp"
#include "fused_votes.hpp"
#include "product.hpp"
#include "program.hpp"
#include "quantiser.hpp"
#include "ranks.hpp"
#include "unpacker.hpp"

namespace layerloom {

/// Calls work(row, first column, offset in the run, length) for each piece of a row in a run of `count`
/// elements that begins with element `first` of a matrix.
template <class Work>
void forEachRow(std::uint64_t first, std::size_t count, std::uint64_t columns, const Work& work) {
    for (std::size_t at = 0; at < count;) {
        const auto column = static_cast<std::size_t>((first + at) % columns);
        const std::size_t length = std::min<std::uint64_t>(count - at, columns - column);
        work(static_cast<std::size_t>((first + at) / columns), column, at, length);
        at += length;
    }
}

/// Evaluates a program tile by tile. Private memory is a tile for each node, whatever the tensor's size.
/// Watched values are looked at where their tile is in the cache.
class Evaluator {
  public:
    /// @param windows the program's sources, mapped
    Evaluator(const Kernels& kernels, const Program& program, const Windows& windows)
        : Evaluator(kernels, program, windows, FusedVotes(program)) {}
    /// @param fusedVotes nodes that it skips have no value
    Evaluator(const Kernels& kernels, const Program& program, const Windows& windows, FusedVotes fusedVotes);

    /// Elements to compute at a time, at most; whole rows where the program needs them.
    std::size_t step(std::size_t wanted) const;

    /// Computes every node for elements [begin, begin + count) of the slice.
    /// @param places for each node where it goes, or null: then it is kept here
    void compute(std::size_t begin, std::size_t count, std::span<std::byte* const> places);

    /// Computes the watched values of the tile that it was moved to, and looks at them.
    void look();

    /// The first elements of watched values that are no finite numbers, of the tiles so far.
    std::vector<NonFiniteElement>& nonFinite() { return nonFinite_; }

    /// From now on tallies what lies at the bounds of the program's fused vote, where it has one.
    void tally();
    /// For each term of that vote; of so many elements, if none of them is other than a finite number.
    std::span<const Tallies> tallies() const { return tallies_; }
    std::uint64_t tallied() const { return tallied_; }

    /// The scales of a node that quantises, of the tile that was computed last.
    std::span<const float> scalesOf(std::size_t node) const;

    /// Moves to elements [begin, begin + count) of the slice, of which nodes are computed when their value is
    /// taken.
    void moveTo(std::size_t begin, std::size_t count);

    /// A value of these elements, in its dtype.
    Source value(ValueId id);
    /// The same in float32, widened where it is not.
    const float* floats(ValueId id);

    /// A value in float32 as a sum for a kernel to take: sources of `dtype`, from element `from` of the tile
    /// on. Valid until the next call.
    struct Sum {
        Terms terms;
        DType dtype;
    };
    /// Returns the sum that a node is, which is not computed for it, where kernels take it; else of the value
    /// alone.
    Sum sum(ValueId id, std::size_t from);

  private:
    struct Buffer {
        std::unique_ptr<std::byte[]> bytes;
        std::size_t capacity = 0;
        std::byte* of(std::size_t size);
        float* floats(std::size_t count) { return reinterpret_cast<float*>(of(count * sizeof(float))); }
    };

    /// A node at work.
    struct Work {
        const Node& node;
        std::size_t index;
        Sink sink;
        bool isKept;  ///< in a buffer of the evaluator, which is aligned
    };

    /// Tables that an operation derives from its fields at the first tile, for all of them.
    struct Prepared {
        std::vector<std::uint64_t>
            words;                   ///< DropRanked: for each rank, the random words below its probability
        std::vector<float> weights;  ///< RowLinear by columns: [input][column]
        std::vector<std::uint8_t>
            mask;  ///< Select by columns: for each byte of a row, ones where it is input 0's
        std::vector<std::byte> row;  ///< FillRows: the row, rounded
        std::unique_ptr<ProductRows> product;
        std::unique_ptr<Dequantiser> dequantiser;
        std::unique_ptr<Quantiser> quantiser;
        std::unique_ptr<Unpacker> unpacker;
    };

    /// Computes a node, and before it those that it is made of.
    void need(ValueId id);
    /// Calls visit(input) for the values that a node is computed of.
    template <class Visit>
    void forEachInput(std::size_t node, const Visit& visit) const;
    /// `value` and `floats` of what is computed.
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

    /// `linear` into a node's tile, which notes whether the results are finite.
    void sumInto(std::span<const Source> sources, std::span<const double> weights, Sink sink,
                 std::size_t count);
    /// Looks at the tile of a watched value.
    void look(ValueId id);
    bool isFiniteAt(ValueId id, std::size_t i) const;
    /// Returns the value that an element which is not finite comes from.
    ValueId causeOf(ValueId id, std::size_t i) const;
    /// Returns the source whose file tells of a cause, or the cause itself.
    ValueId storedCause(ValueId id) const;

    /// Calls fill(out) for float32 in a buffer, and rounds that to the sink's dtype.
    template <class Fill>
    void inFloats(const Work& work, const Fill& fill);
    void linearByRows(const RowLinear& linear, const Work& work);
    void linearByColumns(const RowLinear& linear, const Work& work);
    /// Returns the place that a node's value is written to, or null for one that is kept here.
    std::byte* placeOf(std::size_t node) const;
    /// Finds the tile of a source whose rows stand in another order: in place where that is one run of it,
    /// else copied.
    void gather(std::size_t source);
    /// Returns where a node's tile is.
    const std::byte* dataOf(std::size_t node) const;
    /// True for float32 that kernels may take where they are.
    bool isAligned(ValueId id) const;
    /// Makes a node's tile that of an input, where no place was given for it: nothing is copied.
    bool standsFor(const Work& work, ValueId input);
    /// Returns the node's inputs in float32; valid until the next call.
    const float* const* allFloats(const Node& node);
    /// 32 random bits of each element of the tile.
    const std::uint32_t* randoms(std::uint64_t key);
    std::size_t columns() const { return static_cast<std::size_t>(program_.columns); }
    /// Index in the tensor of the tile's first element.
    std::uint64_t firstElement() const { return program_.first + begin_; }

    const Kernels& kernels_;
    const Program& program_;
    const Windows& windows_;
    const FusedVotes fusedVotes_;
    std::vector<Buffer> values_;              ///< one for each node
    std::vector<const std::byte*> standIns_;  ///< for each node: the tile of an input that it is, or null
    /// For each source whose rows stand in another order: its tile, memory for one that is copied, and the
    /// element of the source that its window begins with.
    struct Gathered {
        const std::byte* tile = nullptr;
        Buffer copied;
        std::uint64_t begin = 0;
    };
    std::vector<Gathered> gathered_;
    std::vector<Prepared> prepared_;  ///< one for each node
    std::vector<bool> isComputed_;    ///< for each node
    std::vector<bool> isNeeded_;      ///< for each node: while `need` works
    std::vector<Buffer> widened_;     ///< float32 of values of other dtypes
    std::vector<bool> isWidened_;
    std::vector<bool> isWatched_;  ///< for each value: until an element that is not finite is found
    std::vector<bool> isPruned_;   ///< for each source: a fused vote takes it, and tells
    std::vector<NonFiniteElement> nonFinite_;
    bool isTold_ = false;    ///< the node at work tells whether its tile is finite
    bool isFinite_ = false;  ///< what it tells
    Buffer rounded_, randoms_;
    Ranks ranks_;
    std::span<std::byte* const> places_;
    /// Kept from tile to tile, so that none allocates.
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
