#include "job.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <span>

#include "../io/guard.hpp"
#include "../io/output_file.hpp"
#include "../kernels/linear.hpp"
#include "sources.hpp"

namespace layerloom {
namespace {

/// Output bytes between two looks at the cancel flag: small enough to stay in the L2 cache between kernel and
/// write.
constexpr std::size_t kTileBytes = 1024 * 1024;
/// The same of each output where several are made of the same inputs, whose tiles are to stay in the cache
/// too.
constexpr std::size_t kSharedTileBytes = 256 * 1024;
/// A copy that stays in the kernel passes no cache of ours and may take longer strides.
constexpr std::size_t kCopyBytes = 4 * 1024 * 1024;

std::span<std::byte> tileBuffer() {
    thread_local const auto buffer = std::make_unique<std::array<std::byte, kTileBytes>>();
    return *buffer;
}

/// The bytes from `begin` on, written out of the mapped input: one copy less than through a buffer.
Status copyMapped(const Job& job, std::uint64_t begin, Control control) {
    const Range source{job.sources.front().fd, job.sources.front().offset + begin, DType::BF16};
    const Windows windows({&source, 1}, [&](const Range&) { return job.count - begin; });
    if (windows.status.outcome != Outcome::Done) return windows.status;
    for (std::size_t at = 0; at < job.count - begin; at += kTileBytes) {
        if (control.cancelled()) return {Outcome::Cancelled};
        const std::size_t length = std::min<std::uint64_t>(kTileBytes, job.count - begin - at);
        const int error =
            writeAt(job.output.fd, job.output.offset + begin + at, windows.bytes[0].subspan(at, length));
        // A page that is lost is the write's EFAULT: no signal is raised for a system call.
        if (error == EFAULT) return windows.lostPage();
        if (error != 0) return {Outcome::WriteFailed, error};
        control.count(length, length);
    }
    return {};
}

Status runCopy(const Job& job, Control control) {
    const Range& source = job.sources.front();
    for (std::uint64_t begin = 0; begin < job.count;) {
        if (control.cancelled()) return {Outcome::Cancelled};
        const std::uint64_t length = std::min<std::uint64_t>(kCopyBytes, job.count - begin);
        const Copied copied =
            copyInKernel(source.fd, source.offset + begin, job.output.fd, job.output.offset + begin, length);
        control.count(copied.bytes, copied.bytes);
        if (copied.writeError != 0) return {Outcome::WriteFailed, copied.writeError};
        begin += copied.bytes;
        if (copied.bytes < length) return copyMapped(job, begin, control);
    }
    return {};
}

Status runSame(const Job& job, Control control) {
    const Windows windows(job.sources, [&](const Range&) { return job.count; });
    if (windows.status.outcome != Outcome::Done) return windows.status;
    for (std::size_t s = 1; s < job.sources.size(); ++s) {
        for (std::uint64_t begin = 0; begin < job.count; begin += kTileBytes) {
            if (control.cancelled()) return {Outcome::Cancelled};
            const std::size_t length = std::min<std::uint64_t>(kTileBytes, job.count - begin);
            bool equal = false;
            const bool whole = guarded(windows.bytes, [&] {
                equal = std::memcmp(windows.bytes[0].data() + begin, windows.bytes[s].data() + begin,
                                    length) == 0;
            });
            if (!whole) return windows.lostPage();
            if (!equal) return {Outcome::NotEqual, 0, s};
            control.count(length, 0);
        }
    }
    return runCopy(job, control);
}

/// Elements that a program of several nodes takes together: their tiles stay in the L1 cache.
constexpr std::size_t kStep = 1024;

/// Writes tiles of the outputs of a program: what the evaluator has put in their buffers, or sources as they
/// stand.
class OutputTiles {
  public:
    OutputTiles(const Job& job, std::size_t count) : job_(job), places_(job.program.nodes.size(), nullptr) {
        std::size_t bytes = 0;
        for (const Output& output : job.outputs)
            bytes += isSource(output) ? 0 : count * sizeOf(output.to.dtype);
        // Memory that each thread keeps, where it is enough.
        if (bytes > kTileBytes) large_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
        std::byte* next = large_ != nullptr ? large_.get() : tileBuffer().data();
        for (const Output& output : job.outputs) {
            tiles_.push_back(isSource(output) ? nullptr : next);
            if (!isSource(output)) next += count * sizeOf(output.to.dtype);
        }
    }

    /// Where nodes go for the elements from `at` of the tile on.
    std::span<std::byte* const> placesAt(std::size_t at) {
        for (std::size_t o = 0; o < tiles_.size(); ++o)
            if (tiles_[o] != nullptr)
                places_[job_.outputs[o].value - job_.program.sources.size()] =
                    tiles_[o] + at * sizeOf(job_.outputs[o].to.dtype);
        return places_;
    }

    Status write(const Windows& windows, std::uint64_t begin, std::size_t count, Control control) const {
        for (std::size_t o = 0; o < tiles_.size(); ++o) {
            const auto& [value, to] = job_.outputs[o];
            const std::size_t width = sizeOf(to.dtype), length = count * width;
            const std::byte* data =
                tiles_[o] != nullptr ? tiles_[o] : windows.bytes[value].data() + begin * width;
            const int error = writeAt(to.fd, to.offset + begin * width, {data, length});
            // A page of a source that is lost is the write's EFAULT: no signal is raised for a system call.
            if (error == EFAULT) return windows.lostPage();
            if (error != 0) return {Outcome::WriteFailed, error};
            control.count(0, length);
        }
        return {};
    }

  private:
    bool isSource(const Output& output) const { return output.value < job_.program.sources.size(); }

    const Job& job_;
    std::unique_ptr<std::byte[]> large_;
    std::vector<std::byte*> tiles_;
    std::vector<std::byte*> places_;
};

Status runCompute(const Kernels& kernels, const Job& job, Control control) {
    const Program& program = job.program;
    const Windows windows(program.sources,
                          [&](const Range& source) { return job.count * sizeOf(source.dtype); });
    if (windows.status.outcome != Outcome::Done) return windows.status;

    Evaluator evaluator(kernels, program, windows);
    std::size_t widest = 1;
    for (const Output& output : job.outputs) widest = std::max(widest, sizeOf(output.to.dtype));
    const std::size_t shared = job.outputs.size() == 1 ? kTileBytes : kSharedTileBytes;
    const std::size_t tileCount = evaluator.step(shared / widest);
    const auto isSource = [&](std::uint32_t id) { return id < program.sources.size(); };
    // One node for each output needs no tiles of its own: it goes from the sources to the output in one pass.
    const auto written =
        std::ranges::count_if(job.outputs, [&](const Output& output) { return !isSource(output.value); });
    const bool isDirect = static_cast<std::size_t>(written) == program.nodes.size() &&
                          std::ranges::all_of(program.nodes, [&](const Node& node) {
                              return std::ranges::all_of(node.inputs, isSource);
                          });
    const std::size_t stepCount = isDirect ? tileCount : evaluator.step(kStep);
    OutputTiles tiles(job, std::min<std::uint64_t>(tileCount, job.count));

    for (std::uint64_t begin = 0; begin < job.count; begin += tileCount) {
        if (control.cancelled()) return {Outcome::Cancelled};
        const std::size_t count = std::min<std::uint64_t>(tileCount, job.count - begin);
        const bool whole = guarded(windows.bytes, [&] {
            for (std::size_t at = 0; at < count; at += stepCount)
                evaluator.compute(begin + at, std::min(stepCount, count - at), tiles.placesAt(at));
        });
        if (!whole) return windows.lostPage();
        const Status written = tiles.write(windows, begin, count, control);
        if (written.outcome != Outcome::Done) return written;
        control.count(program.bytesRead(count), 0);
    }
    for (const Output& output : job.outputs)
        beginWriteBack(output.to.fd, output.to.offset, job.count * sizeOf(output.to.dtype));
    return {};
}

/// For each byte of a row of the matrix: all ones where the first source's is taken.
std::vector<std::uint8_t> columnMask(const Selection& selection) {
    std::vector<std::uint8_t> mask(selection.columns * selection.width);
    for (std::size_t i = 0; i < mask.size(); ++i)
        mask[i] = selection.kept[i / selection.width] != 0 ? 0xFF : 0;
    return mask;
}

void blend(const std::byte* a, const std::byte* b, const std::uint8_t* mask, std::byte* out,
           std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
        out[i] = (a[i] & std::byte{mask[i]}) | (b[i] & std::byte(~mask[i]));
}

Status runSelect(const Job& job, Control control) {
    const Windows windows(job.sources, [&](const Range&) { return job.count; });
    if (windows.status.outcome != Outcome::Done) return windows.status;
    const Selection& selection = job.selection;
    const std::size_t rowBytes = selection.columns * selection.width;
    const bool byColumns = selection.sense == RowSense::Input;
    const std::vector<std::uint8_t> mask = byColumns ? columnMask(selection) : std::vector<std::uint8_t>();
    const std::span<std::byte> tile = tileBuffer();

    for (std::uint64_t begin = 0; begin < job.count; begin += kTileBytes) {
        if (control.cancelled()) return {Outcome::Cancelled};
        const std::size_t length = std::min<std::uint64_t>(kTileBytes, job.count - begin);
        const bool whole = guarded(windows.bytes, [&] {
            for (std::size_t at = 0; at < length;) {
                const std::size_t place = selection.first + begin + at, row = place / rowBytes,
                                  column = place % rowBytes;
                const std::size_t n = std::min(length - at, rowBytes - column);
                const std::byte* a = windows.bytes[0].data() + begin + at;
                const std::byte* b = windows.bytes[1].data() + begin + at;
                if (byColumns)
                    blend(a, b, mask.data() + column, tile.data() + at, n);
                else
                    std::memcpy(tile.data() + at, selection.kept[row] != 0 ? a : b, n);
                at += n;
            }
        });
        if (!whole) return windows.lostPage();
        const int error = writeAt(job.output.fd, job.output.offset + begin, tile.first(length));
        if (error != 0) return {Outcome::WriteFailed, error};
        control.count(2 * length, length);
    }
    return {};
}

}  // namespace

// Compiler builtins: std::atomic_ref is missing from the C++ libraries of some supported compilers.
bool Control::cancelled() const { return __atomic_load_n(&shared_[0], __ATOMIC_RELAXED) != 0; }

void Control::count(std::uint64_t read, std::uint64_t written) {
    __atomic_fetch_add(&shared_[1], static_cast<std::int64_t>(read), __ATOMIC_RELAXED);
    __atomic_fetch_add(&shared_[2], static_cast<std::int64_t>(written), __ATOMIC_RELAXED);
}

Status run(const Kernels& kernels, const Job& job, Control control) {
    const auto work = [&]() -> Status {
        switch (job.kind) {
            case JobKind::Copy:
                return runCopy(job, control);
            case JobKind::Same:
                return runSame(job, control);
            case JobKind::Compute:
                return runCompute(kernels, job, control);
            case JobKind::Select:
                return runSelect(job, control);
        }
        return {};
    };
    const Status status = work();
    if (status.outcome == Outcome::Done && job.kind != JobKind::Compute)
        beginWriteBack(job.output.fd, job.output.offset, job.count);
    return status;
}

}  // namespace layerloom
