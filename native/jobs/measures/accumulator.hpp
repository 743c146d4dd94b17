#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <span>

#include "../evaluator.hpp"
#include "../measure.hpp"

namespace layerloom {

struct Tile {
    const Kernels& kernels;
    const Program& program;
    Evaluator& evaluator;
    std::size_t begin, count;  ///< in the block

    const float* floats(ValueId id) const { return evaluator.floats(id); }

    /// Calls work(row of the block, first column, offset in the tile, length) for each piece of a row.
    template <class Work>
    void forEachRow(const Work& work) const {
        layerloom::forEachRow(begin, count, program.columns, work);
    }
};

class Accumulator {
  public:
    virtual ~Accumulator() = default;
    virtual void add(const Tile& tile) = 0;
    /// True if the rest of the block cannot change the result.
    virtual bool done() const { return false; }
    virtual void finish() {}
    /// False if the block must be read again, because sums are not finite or bytes differ.
    virtual bool isSettled() const { return true; }
    /// Returns the accumulator of a second pass, or null. @param isFinite true if all watched values are
    /// finite
    virtual std::unique_ptr<Accumulator> again(bool /*isFinite*/) { return nullptr; }
};

// `out` has `sizeOf` zeros.
std::unique_ptr<Accumulator> accumulatorOf(const Gram&, const Program&, std::span<double> out);
std::unique_ptr<Accumulator> accumulatorOf(const RowGram&, const Program&, std::span<double> out);
std::unique_ptr<Accumulator> accumulatorOf(const ColumnGram&, const Program&, std::span<double> out);
std::unique_ptr<Accumulator> accumulatorOf(const Magnitudes&, const Program&, std::span<double> out);
std::unique_ptr<Accumulator> accumulatorOf(const RowMagnitudes&, const Program&, std::span<double> out);
std::unique_ptr<Accumulator> accumulatorOf(const ColumnMagnitudes&, const Program&, std::span<double> out);
std::unique_ptr<Accumulator> accumulatorOf(const ColumnSums&, const Program&, std::span<double> out);
std::unique_ptr<Accumulator> accumulatorOf(const Overlaps&, const Program&, std::span<double> out);
std::unique_ptr<Accumulator> accumulatorOf(const NonFinite&, const Program&, std::span<double> out);
std::unique_ptr<Accumulator> accumulatorOf(const Histogram&, const Program&, std::span<double> out);
std::unique_ptr<Accumulator> accumulatorOf(const CountAlone&, const Program&, std::span<double> out);
std::unique_ptr<Accumulator> accumulatorOf(const CountMagnitude&, const Program&, std::span<double> out);
std::unique_ptr<Accumulator> accumulatorOf(const FindMagnitude&, const Program&, std::span<double> out);
std::unique_ptr<Accumulator> accumulatorOf(const Divergence&, const Program&, std::span<double> out);
std::unique_ptr<Accumulator> accumulatorOf(const Signs&, const Program&, std::span<double> out);
std::unique_ptr<Accumulator> accumulatorOf(const Difference&, const Program&, std::span<double> out);

inline bool areFinite(std::span<const double> numbers) {
    return std::ranges::all_of(numbers, [](double number) { return std::isfinite(number); });
}

using Lanes = std::array<double, kLanes>;

/// Returns the sum of the lanes, added in a fixed order.
inline double total(Lanes lanes) {
    for (std::size_t half = kLanes / 2; half > 0; half /= 2)
        for (std::size_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
    return lanes[0];
}

inline double (*lanesOf(std::vector<Lanes>& pairs))[kLanes] {
    static_assert(sizeof(Lanes) == sizeof(double[kLanes]));
    return reinterpret_cast<double(*)[kLanes]>(pairs.data());
}

constexpr std::size_t pairsOf(std::size_t values) { return values * (values + 1) / 2; }

/// Calls work for all pairs i ≤ j, in order.
template <class Work>
void forEachPair(std::size_t values, const Work& work) {
    for (std::size_t p = 0, i = 0; i < values; ++i)
        for (std::size_t j = i; j < values; ++j, ++p) work(p, i, j);
}

}  // namespace layerloom
