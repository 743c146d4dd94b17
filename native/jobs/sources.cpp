#include "sources.hpp"

#include <sys/stat.h>

#include <cerrno>

namespace layerloom {

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

Windows::Windows(std::span<const Range> ranges, std::size_t first, Access access)
    : first_(first), ranges_(ranges.begin(), ranges.end()) {
    for (std::size_t s = 0; s < ranges.size(); ++s) {
        status = checkBounds(s);
        if (status.outcome != Outcome::Done) return;
        const Range& range = ranges[s];
        const MappedFile& file = files_.emplace_back(range.fd, range.offset, range.length, access);
        if (file.error() != 0) status = {Outcome::ReadFailed, file.error(), first_ + s};
        if (status.outcome != Outcome::Done) return;
        bytes.push_back(file.bytes());
    }
}

Status Windows::lostPage() const {
    for (std::size_t s = 0; s < ranges_.size(); ++s) {
        const Status found = checkBounds(s);
        if (found.outcome != Outcome::Done) return found;
    }
    return {Outcome::ReadFailed, EIO, first_};
}

/// Returns Done if a source is within its file now.
Status Windows::checkBounds(std::size_t source) const {
    const auto [fd, offset, length] = ranges_[source];
    struct stat info;
    if (fstat(fd, &info) != 0) return {Outcome::ReadFailed, errno, first_ + source};
    const auto size = static_cast<std::uint64_t>(info.st_size);
    const bool within = offset <= size && length <= size - offset;
    return within ? Status{} : Status{Outcome::InputShrank, 0, first_ + source};
}

}  // namespace layerloom
