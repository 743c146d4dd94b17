#include "sources.hpp"

#include <sys/stat.h>

#include <cerrno>

namespace layerloom {
namespace {

/// Done if a range lies in its file, as that is now; `s` is which source it is.
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
    }
    return {};
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
