#include "measure.hpp"

#include <algorithm>
#include <utility>

#include "../io/guard.hpp"
#include "measures/accumulator.hpp"

namespace layerloom {
namespace {

constexpr std::size_t kTile = 1024;
constexpr std::size_t kLongTile = 4096;
/// Elements of a tile measured from its sources: enough rows to keep column sums in registers, few enough for
/// the L2 cache.
constexpr std::size_t kManyRows = 32 * 1024;
// `products` sums this many products of a lane in float32, so that sums depend only on block, rows and
// tiling.
static_assert(kTile % (8 * kLanes) == 0 && kLongTile % (8 * kLanes) == 0);

/// Elements between checks of the cancel flag.
constexpr std::size_t kElementsTogether = 128 * 1024;

/// Returns the maximum number of elements in a tile of rows. Sums of products depend on tiles only if tiles
/// cut their runs. Tiles are short if there are many experts, because each computed value needs a tile's
/// buffer.
std::size_t mostOfRows(const Measurement& measurement) {
    std::size_t experts = 0;
    for (const Measure& one : measurement.measures)
        if (const auto* overlaps = std::get_if<Overlaps>(&one)) experts = std::max(experts, overlaps->values.size());
    if (experts == 0) return kManyRows;
    if (measurement.program.columns % (8 * kLanes) != 0) return kLongTile;
    return std::max(kTile, kManyRows / std::max<std::size_t>(1, experts / 8) / kTile * kTile);
}

/// Returns the number of elements in the tile from `begin`, ignoring the block's end.
std::size_t tileAt(const Measurement& measurement, const Evaluator& evaluator, std::size_t begin) {
    const Program& program = measurement.program;
    switch (tilingOf(measurement.measures.front())) {
        case Tiling::Runs:
            // Tiles of whole rows may cut runs, so their length is part of the sums.
            return evaluator.step(program.rowsTogether() > 0 ? kTile : kLongTile);
        case Tiling::LongRuns:
            return evaluator.step(kLongTile);
        case Tiling::Rows: {
            const auto columns = static_cast<std::size_t>(program.columns);
            const std::size_t most = mostOfRows(measurement);
            if (program.rowsTogether() > 0) return evaluator.step(most);
            return columns <= most ? most / columns * columns : std::min(most, columns - begin % columns);
        }
    }
    return 0;
}

struct Size {
    std::size_t rows, columns;

    std::size_t operator()(const Gram& gram) const { return pairsOf(gram.values.size()); }
    std::size_t operator()(const RowGram& gram) const { return rows * pairsOf(gram.values.size()); }
    std::size_t operator()(const ColumnGram& gram) const { return columns * pairsOf(gram.values.size()); }
    std::size_t operator()(const Magnitudes&) const { return 1; }
    std::size_t operator()(const RowMagnitudes&) const { return rows; }
    std::size_t operator()(const ColumnMagnitudes&) const { return columns; }
    std::size_t operator()(const ColumnSums&) const { return columns; }
    std::size_t operator()(const Overlaps& overlaps) const { return 3 * pairsOf(overlaps.values.size()); }
    std::size_t operator()(const NonFinite& what) const { return 1 + what.experts.size(); }
    std::size_t operator()(const Histogram&) const { return 1 + kCandidates; }
    std::size_t operator()(const CountAlone& what) const { return 2 * what.values.size(); }
    std::size_t operator()(const CountMagnitude&) const { return 1; }
    std::size_t operator()(const FindMagnitude&) const { return 1; }
    std::size_t operator()(const Divergence&) const { return rows; }
    std::size_t operator()(const Signs&) const { return 1; }
    std::size_t operator()(const Difference&) const { return kDifferenceNumbers; }
};

using Accumulators = std::vector<std::unique_ptr<Accumulator>>;

Status findNonFinite(const Kernels& kernels, const Program& program, const Windows& windows, Control control) {
    Evaluator evaluator(kernels, program, windows);
    const std::size_t step = evaluator.step(kTile);
    for (std::size_t begin = 0; begin < program.count;) {
        if (control.cancelled()) return {Outcome::Cancelled};
        const bool whole = guarded(windows.bytes, [&] {
            for (const std::size_t end = begin + kElementsTogether; begin < end && begin < program.count;) {
                const std::size_t n = std::min<std::uint64_t>(step, program.count - begin);
                evaluator.moveTo(begin, n);
                evaluator.look();
                begin += n;
            }
        });
        if (!whole) return windows.lostPage();
    }
    return {.nonFinite = std::move(evaluator.nonFinite())};
}

/// Passes a block to accumulators until all are done.
Status look(const Kernels& kernels, const Measurement& measurement, const Windows& windows,
            const Accumulators& accumulators, Control control) {
    const Program& program = measurement.program;
    const auto count = static_cast<std::size_t>(program.count);
    const auto isDone = [](const auto& accumulator) { return accumulator->done(); };
    Evaluator evaluator(kernels, program, windows);
    for (std::size_t begin = 0; begin < count && !std::ranges::all_of(accumulators, isDone);) {
        if (control.cancelled()) return {Outcome::Cancelled};
        const bool whole = guarded(windows.bytes, [&] {
            for (const std::size_t end = begin + kElementsTogether; begin < end && begin < count;) {
                const std::size_t n = std::min(tileAt(measurement, evaluator, begin), count - begin);
                evaluator.moveTo(begin, n);
                for (const auto& accumulator : accumulators)
                    accumulator->add({kernels, program, evaluator, begin, n});
                begin += n;
            }
        });
        if (!whole) return windows.lostPage();
    }
    for (const auto& accumulator : accumulators) accumulator->finish();
    return {};
}

}  // namespace

std::size_t sizeOf(const Measure& measure, const Program& program) {
    const auto columns = static_cast<std::size_t>(program.columns);
    return std::visit(Size{static_cast<std::size_t>(program.count) / columns, columns}, measure);
}

Tiling tilingOf(const Measure& measure) {
    return std::visit([](const auto& one) { return one.tiling; }, measure);
}

Status measure(const Kernels& kernels, const Measurement& measurement, std::span<const std::span<double>> out,
               Control control) {
    const auto& [program, measures] = measurement;
    const Windows windows(program.windows(), 0, program.access);
    if (windows.status.outcome != Outcome::Done) return windows.status;

    Accumulators accumulators;
    for (std::size_t m = 0; m < measures.size(); ++m)
        accumulators.push_back(std::visit(
            [&, &program = program](const auto& one) { return accumulatorOf(one, program, out[m]); },
            measures[m]));
    const Status status = look(kernels, measurement, windows, accumulators, control);
    if (status.outcome != Outcome::Done) return status;
    control.count(program.bytesRead(0, program.count), 0);

    if (std::ranges::all_of(accumulators, [](const auto& found) { return found->isSettled(); })) return {};
    Status found;
    if (!program.watched.empty()) found = findNonFinite(kernels, program, windows, control);
    if (found.outcome != Outcome::Done) return found;
    Accumulators again;
    for (const auto& accumulator : accumulators)
        if (auto more = accumulator->again(found.nonFinite.empty())) again.push_back(std::move(more));
    const Status looked = look(kernels, measurement, windows, again, control);
    return looked.outcome == Outcome::Done ? found : looked;
}

}  // namespace layerloom
