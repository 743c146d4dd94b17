#include "sources.hpp"

#include <sys/stat.h>

#include <cerrno>

namespace layerloom {
namespace {

/// Returns Done if a range is within its file now; `s` is the source.
Status checkBounds(const Range& range, std::size_t s) {
    struct stat info;
    if (fstat(range.fd, &info) != 0) return {Outcome::ReadFailed, errno, s};
    const auto size = static_cast<std::uint64_t>(info.st_size);
    const bool within = range.offset <= size && range.length <= size - range.offset;
    return within ? Status{} : Status{Outcome::InputShrank, 0, s};
}

}  // namespace

Range windowOf(const StoredSource& source, std::uint64_t first, std::uint64_t count) {
    switch (source.slicing) {
        case Slicing::Elements:
            return rangeOf(source.at, sizeOf(source.dtype), first, count);
        case Slicing::Rows: {
            std::uint64_t begin = 0, end = 0;
            const std::span<const RowRun> runs = source.runs;
            forEachRun(runs, source.width, first, count,
                       [&](const RowRun* run, std::uint64_t into, std::size_t, std::size_t length) {
                           if (run == nullptr) return;
                           const std::uint64_t at = run->from * source.width + into;
                           begin = end == 0 ? at : std::min(begin, at);
                           end = std::max(end, at + length);
                       });
            return rangeOf(source.at, sizeOf(source.dtype), begin, end - begin);
        }
        case Slicing::Whole:
            return rangeOf(source.at, sizeOf(source.dtype), 0, source.elements);
    }
    return {};
}

std::uint64_t bytesRead(const StoredSource& source, std::uint64_t first, std::uint64_t count) {
    std::uint64_t elements = 0;
    switch (source.slicing) {
        case Slicing::Elements:
            elements = count;
            break;
        case Slicing::Rows:
            forEachRun(std::span<const RowRun>(source.runs), source.width, first, count,
                       [&](const RowRun* run, std::uint64_t, std::size_t, std::size_t length) {
                           elements += run == nullptr ? 0 : length;
                       });
            break;
        case Slicing::Whole:
            elements = first == 0 && count > 0 ? source.elements : 0;
            break;
    }
    return elements * sizeOf(source.dtype);
}

Windows::Windows(std::span<const Range> ranges) : ranges_(ranges.begin(), ranges.end()) {
    for (std::size_t s = 0; s < ranges.size(); ++s) {
        const Range& range = ranges[s];
        status = checkBounds(range, s);
        if (status.outcome != Outcome::Done) return;
        const MappedFile& file = files_.emplace_back(range.fd, range.offset, range.length);
        if (file.error() != 0) status = {Outcome::ReadFailed, file.error(), s};
        if (status.outcome != Outcome::Done) return;
        bytes.push_back(file.bytes());
    }
}

Status Windows::lostPage() const {
    for (std::size_t s = 0; s < ranges_.size(); ++s) {
        const Status found = checkBounds(ranges_[s], s);
        if (found.outcome != Outcome::Done) return found;
    }
    return {Outcome::ReadFailed, EIO, 0};
}

}  // namespace layerloom
