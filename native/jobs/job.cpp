#include "job.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <span>

#include "../io/guard.hpp"
#include "../io/mapped_file.hpp"
#include "../io/output_file.hpp"
#include "../kernels/linear.hpp"

namespace layerloom {
namespace {

/// Output bytes between two looks at the cancel flag: small enough to stay in the L2 cache between kernel and
/// write.
constexpr std::size_t kTileBytes = 256 * 1024;
/// A copy that stays in the kernel passes no cache of ours and may take longer strides.
constexpr std::size_t kCopyBytes = 4 * 1024 * 1024;

std::span<std::byte> tileBuffer() {
    thread_local const auto buffer = std::make_unique<std::array<std::byte, kTileBytes>>();
    return *buffer;
}

/// 1 for the jobs that move bytes, the dtype's size for those that compute.
std::size_t width(const Job& job, const Range& range) {
    return job.kind == JobKind::Linear ? sizeOf(range.dtype) : 1;
}

/// Whether a source lies in its file, as that is now.
Status checkBounds(const Job& job, std::size_t s) {
    const Range& source = job.sources[s];
    struct stat info;
    if (fstat(source.fd, &info) != 0) return {Outcome::ReadFailed, errno, s};
    const auto size = static_cast<std::uint64_t>(info.st_size);
    const bool within = source.offset <= size && job.count <= (size - source.offset) / width(job, source);
    return within ? Status{} : Status{Outcome::InputShrank, 0, s};
}

/// The sources of a job, mapped.
struct Windows {
    std::vector<MappedFile> files;
    std::vector<std::span<const std::byte>> bytes;
    Status status;
};

Windows mapSources(const Job& job) {
    Windows windows;
    for (std::size_t s = 0; s < job.sources.size(); ++s) {
        const Range& source = job.sources[s];
        windows.status = checkBounds(job, s);
        if (windows.status.outcome != Outcome::Done) break;
        const MappedFile& file =
            windows.files.emplace_back(source.fd, source.offset, job.count * width(job, source));
        if (file.error() != 0) {
            windows.status = {Outcome::ReadFailed, file.error(), s};
            break;
        }
        windows.bytes.push_back(file.bytes());
    }
    return windows;
}

/// Why a mapped page could not be read: its file has shrunk, or the disk failed.
Status lostPage(const Job& job) {
    for (std::size_t s = 0; s < job.sources.size(); ++s) {
        const Status status = checkBounds(job, s);
        if (status.outcome != Outcome::Done) return status;
    }
    return {Outcome::ReadFailed, EIO, 0};
}

Status runCopy(const Job& job, Control control) {
    const Range& source = job.sources.front();
    for (std::uint64_t begin = 0; begin < job.count; begin += kCopyBytes) {
        if (control.cancelled()) return {Outcome::Cancelled};
        const std::uint64_t length = std::min<std::uint64_t>(kCopyBytes, job.count - begin);
        const Copied copied = copyRange(source.fd, source.offset + begin, job.output.fd,
                                        job.output.offset + begin, length, tileBuffer());
        control.count(copied.bytes, copied.bytes);
        if (copied.writeError != 0) return {Outcome::WriteFailed, copied.writeError};
        if (copied.readError != 0) return {Outcome::ReadFailed, copied.readError};
        if (copied.bytes < length) return {Outcome::InputShrank};
    }
    return {};
}

Status runSame(const Job& job, Control control) {
    const Windows windows = mapSources(job);
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
            if (!whole) return lostPage(job);
            if (!equal) return {Outcome::NotEqual, 0, s};
            control.count(length, 0);
        }
    }
    return runCopy(job, control);
}

Status runLinear(const Kernels& kernels, const Job& job, Control control) {
    const Windows windows = mapSources(job);
    if (windows.status.outcome != Outcome::Done) return windows.status;

    const std::size_t outputWidth = sizeOf(job.output.dtype);
    const std::size_t tileCount = kTileBytes / outputWidth;
    const std::span<std::byte> tile = tileBuffer();
    std::vector<Source> sources(job.sources.size());

    for (std::uint64_t begin = 0; begin < job.count; begin += tileCount) {
        if (control.cancelled()) return {Outcome::Cancelled};
        const std::size_t count = std::min<std::uint64_t>(tileCount, job.count - begin);
        std::uint64_t bytesRead = 0;
        for (std::size_t s = 0; s < sources.size(); ++s) {
            const DType dtype = job.sources[s].dtype;
            sources[s] = {windows.bytes[s].data() + begin * sizeOf(dtype), dtype};
            bytesRead += count * sizeOf(dtype);
        }
        const bool whole = guarded(windows.bytes, [&] {
            linear(kernels, sources, job.weights, {tile.data(), job.output.dtype}, count);
        });
        if (!whole) return lostPage(job);
        const std::size_t length = count * outputWidth;
        const int error = writeAt(job.output.fd, job.output.offset + begin * outputWidth, tile.first(length));
        if (error != 0) return {Outcome::WriteFailed, error};
        control.count(bytesRead, length);
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
    switch (job.kind) {
        case JobKind::Copy:
            return runCopy(job, control);
        case JobKind::Same:
            return runSame(job, control);
        case JobKind::Linear:
            return runLinear(kernels, job, control);
    }
    return {};
}

}  // namespace layerloom
