#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <memory>
#include <utility>

#include "../io/guard.hpp"
#include "../io/output_file.hpp"
#include "evaluator.hpp"
#include "job.hpp"

namespace layerloom {
namespace {

/// Bytes of a tile if outputs share inputs: all their tiles must fit into the cache.
constexpr std::size_t kSharedTileBytes = 256 * 1024;
/// Number of elements that several nodes process together, so that tiles stay in the L2 cache.
constexpr std::size_t kStep = 4096;

std::span<std::byte> tileBuffer() {
    thread_local const auto buffer = std::make_unique<std::array<std::byte, kTileBytes>>();
    return *buffer;
}

Range rangeOf(const Output& output, std::uint64_t first, std::uint64_t count) {
    return rangeOf(output.to, sizeOf(output.dtype), first, count);
}

/// Returns the range of the file for `count` scales, from that of element `first` on. `first` must begin a
/// row of blocks.
Range rangeOfScales(const Output& output, const Program& program, std::uint64_t first, std::uint64_t count) {
    const auto& what = std::get<Quantise>(program.nodes[output.value - program.sources.size()].operation);
    const std::uint64_t rowOfBlocks = first / (what.blockRows * program.columns);
    return rangeOf(output.to, sizeof(float), rowOfBlocks * what.across(program.columns), count);
}

/// Writes tiles, from buffers that the evaluator fills or directly from unchanged sources.
class OutputTiles {
  public:
    OutputTiles(const Compute& compute, std::size_t count)
        : compute_(compute), places_(compute.program.nodes.size(), nullptr) {
        std::size_t bytes = 0;
        for (const Output& output : compute.outputs)
            bytes += isTile(output) ? count * sizeOf(output.dtype) : 0;
        if (bytes > kTileBytes) large_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
        std::byte* next = large_ != nullptr ? large_.get() : tileBuffer().data();
        for (const Output& output : compute.outputs) {
            tiles_.push_back(isTile(output) ? next : nullptr);
            if (isTile(output)) next += count * sizeOf(output.dtype);
        }
        scales_.resize(compute.outputs.size());
    }

    /// Returns for each node where its output from `at` on goes in a tile; null if the node has no output.
    std::span<std::byte* const> placesAt(std::size_t at) {
        for (std::size_t o = 0; o < tiles_.size(); ++o)
            if (tiles_[o] != nullptr)
                places_[compute_.outputs[o].value - compute_.program.sources.size()] =
                    tiles_[o] + at * sizeOf(compute_.outputs[o].dtype);
        return places_;
    }

    void takeScales(const Evaluator& evaluator) {
        for (std::size_t o = 0; o < tiles_.size(); ++o) {
            if (!compute_.outputs[o].scales) continue;
            const std::span<const float> found =
                evaluator.scalesOf(compute_.outputs[o].value - compute_.program.sources.size());
            scales_[o].insert(scales_[o].end(), found.begin(), found.end());
        }
    }

    /// @param begin the tile's first element in the slice
    Status write(const Windows& windows, std::uint64_t begin, std::size_t count, Control control) {
        for (std::size_t o = 0; o < tiles_.size(); ++o) {
            const Output& output = compute_.outputs[o];
            Range to = rangeOf(output, compute_.program.first + begin, count);
            const std::byte* data = tiles_[o];
            if (output.scales) {
                to = rangeOfScales(output, compute_.program, compute_.program.first + begin, scales_[o].size());
                data = reinterpret_cast<const std::byte*>(scales_[o].data());
            } else if (data == nullptr) {
                data = windows.at(output.value, begin * sizeOf(output.dtype), count * sizeOf(output.dtype));
            }
            const int error = writeAt(to.fd, to.offset, {data, static_cast<std::size_t>(to.length)});
            // System calls raise no signal: if a mapped page is lost, the write fails with EFAULT.
            if (error == EFAULT) return windows.lostPage();
            if (error != 0) return {Outcome::WriteFailed, error};
            control.count(0, to.length);
            scales_[o].clear();
        }
        return {};
    }

  private:
    bool isTile(const Output& output) const {
        return output.value >= compute_.program.sources.size() && !output.scales;
    }

    const Compute& compute_;
    std::unique_ptr<std::byte[]> large_;
    std::vector<std::byte*> tiles_;
    std::vector<std::vector<float>> scales_;  ///< each output's scales in the tile
    std::vector<std::byte*> places_;
};

/// True if each computed node is an output and depends on sources only. Then nodes need no tiles, and one
/// pass is enough.
bool isDirect(const Compute& compute, const FusedVotes& fusedVotes) {
    const Program& program = compute.program;
    const auto isSource = [&](ValueId id) { return id < program.sources.size(); };
    const auto isOfSources = [&](std::size_t n) {
        const Node& node = program.nodes[n];
        if (!fusedVotes.votes[n]) return std::ranges::all_of(node.inputs, isSource);
        return isSource(node.inputs[0]) &&
               std::ranges::all_of(fusedVotes.votes[n]->terms,
                                   [&](const FusedVote::Term& term) { return isSource(term.source); });
    };
    const auto isWritten = [&](std::size_t n) {
        return std::ranges::any_of(compute.outputs, [&](const Output& output) {
            return output.value == program.sources.size() + n;
        });
    };
    for (std::size_t n = 0; n < program.nodes.size(); ++n)
        if (!fusedVotes.isSkipped[n] && !(isWritten(n) && isOfSources(n))) return false;
    return true;
}

void addTallies(std::span<std::int64_t> to, const Evaluator& evaluator) {
    if (evaluator.tallies().empty()) return;
    const auto add = [&](std::size_t word, std::uint64_t count) {
        __atomic_fetch_add(&to[word], static_cast<std::int64_t>(count), __ATOMIC_RELAXED);
    };
    const auto choose = [&](std::size_t word, std::int64_t number, const auto& isBetter) {
        std::int64_t known = __atomic_load_n(&to[word], __ATOMIC_RELAXED);
        while (isBetter(number, known) && !__atomic_compare_exchange_n(&to[word], &known, number, true,
                                                                       __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        }
    };
    add(0, evaluator.tallied());
    std::size_t word = 1;
    for (const auto& [lower, upper] : evaluator.tallies())
        for (const Tally& tally : {lower, upper}) {
            add(word, tally.above);
            choose(word + 1, tally.least, std::less<>());
            choose(word + 2, tally.most, std::greater<>());
            word += 3;
        }
}

}  // namespace

Status run(const Kernels& kernels, const Compute& compute, Control control) {
    const Program& program = compute.program;
    const std::vector<Output>& outputs = compute.outputs;
    const Windows windows(program.windows(), 0, program.access);
    if (windows.status.outcome != Outcome::Done) return windows.status;

    std::vector<ValueId> wanted;
    for (const Output& output : outputs) wanted.push_back(output.value);
    const FusedVotes fusedVotes(kernels, program, wanted);
    Evaluator evaluator(kernels, program, windows, fusedVotes);
    if (!compute.tally.empty()) evaluator.tally();
    std::size_t widest = 1;
    for (const Output& output : outputs) widest = std::max(widest, sizeOf(output.dtype));
    const std::size_t tileCount =
        evaluator.step((outputs.size() == 1 ? kTileBytes : kSharedTileBytes) / widest);
    const std::size_t stepCount = isDirect(compute, fusedVotes) ? tileCount : evaluator.step(kStep);
    OutputTiles tiles(compute, std::min<std::uint64_t>(tileCount, program.count));

    for (std::uint64_t begin = 0; begin < program.count; begin += tileCount) {
        if (control.cancelled()) return {Outcome::Cancelled};
        const std::size_t count = std::min<std::uint64_t>(tileCount, program.count - begin);
        const bool whole = guarded(windows.bytes, [&] {
            for (std::size_t at = 0; at < count; at += stepCount) {
                evaluator.compute(begin + at, std::min(stepCount, count - at), tiles.placesAt(at));
                tiles.takeScales(evaluator);
            }
        });
        if (!whole) return windows.lostPage();
        const Status written = tiles.write(windows, begin, count, control);
        if (written.outcome != Outcome::Done) return written;
        control.count(program.bytesRead(begin, count), 0);
    }
    for (const Output& output : outputs) {
        if (output.scales) continue;
        const Range to = rangeOf(output, program.first, program.count);
        beginWriteBack(to.fd, to.offset, to.length);
    }
    addTallies(compute.tally, evaluator);
    return {.nonFinite = std::move(evaluator.nonFinite())};
}

}  // namespace layerloom
