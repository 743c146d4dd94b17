#include "sources.hpp"

#include <sys/stat.h>

#include <cerrno>

namespace layerloom {
namespace {

/// Bytes read at once from a remote file: enough that system calls cost little, few enough for the cache.
constexpr std::size_t kTogether = 256 * 1024;
/// Limits on a thread's spare buffers. Fresh memory costs as much as reading into it.
constexpr std::size_t kKeptBytes = 1024 * 1024, kMostSpare = 4;

thread_local std::vector<std::vector<std::byte>> spare;

std::vector<std::byte> bufferOf(std::size_t bytes) {
    while (!spare.empty()) {
        std::vector<std::byte> buffer = std::move(spare.back());
        spare.pop_back();
        if (buffer.size() >= bytes) return buffer;
    }
    return std::vector<std::byte>(bytes);
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

Windows::Windows(std::span<const Range> ranges, std::size_t first, Access access)
    : first_(first), ranges_(ranges.begin(), ranges.end()) {
    for (std::size_t s = 0; s < ranges.size(); ++s) {
        tiles_.push_back({remoteOf(ranges[s].fd)});
        status = checkBounds(s);
        if (status.outcome != Outcome::Done) return;
        const Range& range = ranges[s];
        if (tiles_[s].file != nullptr) {
            bytes.emplace_back();
            continue;
        }
        const MappedFile& file = files_.emplace_back(range.fd, range.offset, range.length, access);
        if (file.error() != 0) status = {Outcome::ReadFailed, file.error(), first_ + s};
        if (status.outcome != Outcome::Done) return;
        bytes.push_back(file.bytes());
    }
}

Windows::~Windows() {
    for (Tile& tile : tiles_)
        if (!tile.buffer.empty() && tile.buffer.size() <= kKeptBytes && spare.size() < kMostSpare)
            spare.push_back(std::move(tile.buffer));
}

const std::byte* Windows::at(std::size_t source, std::uint64_t begin, std::size_t length) const {
    Tile& tile = tiles_[source];
    if (tile.file == nullptr) return bytes[source].data() + begin;
    if (begin < tile.begin || begin + length > tile.end) {
        const Range& range = ranges_[source];
        const std::size_t wanted = std::min<std::uint64_t>(std::max(length, kTogether), range.length - begin);
        if (tile.buffer.size() < wanted) tile.buffer = bufferOf(wanted);
        tile.end = tile.begin;
        const int error = tile.file->readAt(range.offset + begin, std::span(tile.buffer).first(wanted));
        if (error != 0) throw LostSource{{Outcome::ReadFailed, error, first_ + source}};
        tile.begin = begin;
        tile.end = begin + wanted;
    }
    return tile.buffer.data() + (begin - tile.begin);
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
    struct stat info = {};
    const RemoteFile* const remote = tiles_[source].file.get();
    if (remote == nullptr && fstat(fd, &info) != 0) return {Outcome::ReadFailed, errno, first_ + source};
    const auto size = remote == nullptr ? static_cast<std::uint64_t>(info.st_size) : remote->size();
    const bool within = offset <= size && length <= size - offset;
    return within ? Status{} : Status{Outcome::InputShrank, 0, first_ + source};
}

}  // namespace layerloom
