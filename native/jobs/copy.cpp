#include <algorithm>
#include <cerrno>
#include <cstring>

#include "../io/guard.hpp"
#include "../io/output_file.hpp"
#include "job.hpp"

namespace layerloom {
namespace {

/// Bytes of one copy in the kernel, which does not use our caches.
constexpr std::size_t kCopyBytes = 4 * 1024 * 1024;

Range bytesOf(const Location& at, std::uint64_t first, std::uint64_t count) {
    return rangeOf(at, 1, first, count);
}

/// Writes from the mapping, without a copy to a buffer.
Status copyMapped(const Range& source, const Range& to, Control control) {
    const Windows windows({&source, 1});
    if (windows.status.outcome != Outcome::Done) return windows.status;
    for (std::size_t at = 0; at < source.length; at += kTileBytes) {
        if (control.cancelled()) return {Outcome::Cancelled};
        const std::size_t length = std::min<std::uint64_t>(kTileBytes, source.length - at);
        const int error = writeAt(to.fd, to.offset + at, {windows.at(0, at, length), length});
        // The page is lost, as in compute.cpp.
        if (error == EFAULT) return windows.lostPage();
        if (error != 0) return {Outcome::WriteFailed, error};
        control.count(length, length);
    }
    return {};
}

Status copyRange(const Range& source, const Range& to, Control control) {
    for (std::uint64_t begin = 0; begin < source.length;) {
        if (control.cancelled()) return {Outcome::Cancelled};
        const std::uint64_t length = std::min<std::uint64_t>(kCopyBytes, source.length - begin);
        const Copied copied =
            copyInKernel(source.fd, source.offset + begin, to.fd, to.offset + begin, length);
        control.count(copied.bytes, copied.bytes);
        if (copied.writeError != 0) return {Outcome::WriteFailed, copied.writeError};
        begin += copied.bytes;
        if (copied.bytes < length)
            return copyMapped({source.fd, source.offset + begin, source.length - begin},
                              {to.fd, to.offset + begin, to.length - begin}, control);
    }
    return {};
}

/// Returns Done if all sources have the bytes of the first.
Status compare(const std::vector<Range>& sources, Control control) {
    const Windows windows(sources);
    if (windows.status.outcome != Outcome::Done) return windows.status;
    const std::uint64_t all = sources[0].length;
    for (std::size_t s = 1; s < sources.size(); ++s) {
        for (std::uint64_t begin = 0; begin < all; begin += kTileBytes) {
            if (control.cancelled()) return {Outcome::Cancelled};
            const std::size_t length = std::min<std::uint64_t>(kTileBytes, all - begin);
            bool equal = false;
            const bool whole = guarded(windows.bytes, [&] {
                equal = std::memcmp(windows.at(0, begin, length), windows.at(s, begin, length), length) == 0;
            });
            if (!whole) return windows.lostPage();
            if (!equal) return {Outcome::NotEqual, 0, s};
            control.count(length, 0);
        }
    }
    return {};
}

}  // namespace

Status run(const Copy& copy, Control control) {
    const Range to = bytesOf(copy.to, copy.first, copy.count);
    const Status status = copyRange(bytesOf(copy.source, copy.first, copy.count), to, control);
    if (status.outcome == Outcome::Done) beginWriteBack(to.fd, to.offset, to.length);
    return status;
}

Status run(const Same& same, Control control) {
    std::vector<Range> sources;
    for (const Location& source : same.sources) sources.push_back(bytesOf(source, same.first, same.count));
    const Status status = compare(sources, control);
    if (status.outcome != Outcome::Done) return status;
    return run(Copy{same.sources.front(), same.to, same.first, same.count}, control);
}

}  // namespace layerloom
