#include "sources.hpp"

#include <sys/stat.h>

#include <cerrno>

namespace layerloom {

Status checkBounds(const Range& range, std::uint64_t length, std::size_t s) {
    struct stat info;
    if (fstat(range.fd, &info) != 0) return {Outcome::ReadFailed, errno, s};
    const auto size = static_cast<std::uint64_t>(info.st_size);
    const bool within = range.offset <= size && length <= size - range.offset;
    return within ? Status{} : Status{Outcome::InputShrank, 0, s};
}

void Windows::map(const Range& range, std::uint64_t length, std::size_t s) {
    status = checkBounds(range, length, s);
    if (status.outcome != Outcome::Done) return;
    const MappedFile& file = files_.emplace_back(range.fd, range.offset, length);
    if (file.error() != 0) status = {Outcome::ReadFailed, file.error(), s};
    bytes.push_back(file.bytes());
    ranges_.push_back(range);
}

Status Windows::lostPage() const {
    for (std::size_t s = 0; s < ranges_.size(); ++s) {
        const Status found = checkBounds(ranges_[s], bytes[s].size(), s);
        if (found.outcome != Outcome::Done) return found;
    }
    return {Outcome::ReadFailed, EIO, 0};
}

}  // namespace layerloom
