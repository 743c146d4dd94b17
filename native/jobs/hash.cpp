#include "hash.hpp"

#include <algorithm>
#include <cstring>

#include "../io/guard.hpp"
#include "check.hpp"

namespace layerloom {
namespace {

/// Bytes mapped at once: a few milliseconds of work.
constexpr std::uint64_t kWindowBytes = 4 * 1024 * 1024;

/// The state before the first block (FIPS 180-4, 5.3.3).
constexpr std::uint32_t kInitial[kSha256Words] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                                  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

struct Stream {
    const HashedRange& part;
    std::uint32_t* state;
    std::uint64_t done = 0;               ///< number of bytes hashed
    std::byte padded[2 * kSha256Block]{};  ///< the bytes after the last whole block, and the padding

    std::uint64_t left() const { return part.range.length - done; }

    Range window() const {
        return {part.range.fd, part.range.offset + done, std::min(kWindowBytes, left())};
    }

    void finish(const Sha256& sha256) {
        const std::size_t rest = part.range.length % kSha256Block;
        const std::size_t blocks = rest < kSha256Block - 8 ? 1 : 2;
        padded[rest] = std::byte{0x80};
        const std::uint64_t bits = (part.range.offset - part.start + part.range.length) * 8;
        for (std::size_t i = 0; i < 8; ++i)
            padded[blocks * kSha256Block - 1 - i] = static_cast<std::byte>(bits >> (8 * i));
        sha256.one(state, padded, blocks);
    }
};

using Bytes = std::span<const std::byte>;

/// Returns the ranges to map. Overlapping windows of one file, as of a tensor and its file, get one mapping,
/// because page faults are a tenth of the time.
std::vector<Range> mapped(const std::vector<Range>& windows) {
    if (windows.size() < 2 || windows[0].fd != windows[1].fd) return windows;
    const auto endOf = [](const Range& range) { return range.offset + range.length; };
    const auto [first, second] = std::minmax(windows[0], windows[1], [](const Range& a, const Range& b) {
        return a.offset < b.offset;
    });
    if (endOf(first) <= second.offset) return windows;
    return {{first.fd, first.offset, std::max(endOf(first), endOf(second)) - first.offset}};
}

/// Hashes a window of both streams together, then the rest of the longer stream.
void take(const Sha256& sha256, std::span<Stream*> streams, std::span<const Bytes> windows) {
    const auto blocksOf = [&](std::size_t s) { return windows[s].size() / kSha256Block; };
    std::size_t both = 0;
    if (streams.size() == 2) {
        both = std::min(blocksOf(0), blocksOf(1));
        sha256.two({streams[0]->state, streams[1]->state}, {windows[0].data(), windows[1].data()}, both);
    }
    for (std::size_t s = 0; s < streams.size(); ++s) {
        const Bytes bytes = windows[s];
        sha256.one(streams[s]->state, bytes.data() + both * kSha256Block, blocksOf(s) - both);
        const std::size_t rest = bytes.size() % kSha256Block;
        if (rest > 0) std::memcpy(streams[s]->padded, bytes.data() + bytes.size() - rest, rest);
    }
}

}  // namespace

void check(std::span<const HashedRange> ranges, std::span<const std::uint32_t> states) {
    require(ranges.size() == 1 || ranges.size() == 2, "ranges");
    for (const auto& [range, start, last] : ranges) {
        require(range.offset >= start && (range.offset - start) % kSha256Block == 0, "begin");
        require(last || range.length % kSha256Block == 0, "length");
        checkElements({range.fd, range.offset}, 1, 0, range.length, "length");
    }
    require(states.size() == ranges.size() * kSha256Words, "states");
}

Status hash(const Sha256& sha256, std::span<const HashedRange> ranges, std::span<std::uint32_t> states,
            Control control) {
    std::vector<Stream> streams;
    for (std::size_t s = 0; s < ranges.size(); ++s) {
        std::uint32_t* const state = states.data() + s * kSha256Words;
        if (ranges[s].range.offset == ranges[s].start) std::ranges::copy(kInitial, state);
        streams.push_back({ranges[s], state});
    }
    for (;;) {
        std::vector<Stream*> open;
        std::vector<Range> parts;
        for (Stream& stream : streams) {
            if (stream.left() == 0) continue;
            open.push_back(&stream);
            parts.push_back(stream.window());
        }
        if (open.empty()) break;
        if (control.cancelled()) return {Outcome::Cancelled};
        const std::vector<Range> maps = mapped(parts);
        const Windows windows(maps);
        if (windows.status.outcome != Outcome::Done) return windows.status;
        std::vector<Bytes> bytes;
        for (std::size_t s = 0; s < parts.size(); ++s) {
            const std::size_t at = std::min(s, maps.size() - 1);
            bytes.emplace_back(windows.whole(at) + (parts[s].offset - maps[at].offset), parts[s].length);
        }
        if (!guarded(windows.bytes, [&] { take(sha256, open, bytes); })) return windows.lostPage();
        for (std::size_t s = 0; s < open.size(); ++s) open[s]->done += parts[s].length;
    }
    for (Stream& stream : streams)
        if (stream.part.last) stream.finish(sha256);
    return {};
}

}  // namespace layerloom
