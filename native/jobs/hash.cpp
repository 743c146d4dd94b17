#include "hash.hpp"

#include <algorithm>
#include <cstring>

#include "../io/guard.hpp"
#include "check.hpp"

namespace layerloom {
namespace {

/// Bytes mapped at a time: a few milliseconds of work.
constexpr std::uint64_t kWindowBytes = 4 * 1024 * 1024;

/// The state before the first block (FIPS 180-4, 5.3.3).
constexpr std::uint32_t kInitial[kSha256Words] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                                  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

struct Stream {
    const HashedRange& part;
    std::uint32_t* state;
    std::uint64_t done = 0;               ///< bytes of the part
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

/// Hashes a window of each stream together, then the rest of the longer window.
void take(const Sha256& sha256, std::span<Stream*> streams, const Windows& windows) {
    const auto blocksOf = [&](std::size_t s) { return windows.bytes[s].size() / kSha256Block; };
    std::size_t both = 0;
    if (streams.size() == 2) {
        both = std::min(blocksOf(0), blocksOf(1));
        sha256.two({streams[0]->state, streams[1]->state}, {windows.bytes[0].data(), windows.bytes[1].data()},
                   both);
    }
    for (std::size_t s = 0; s < streams.size(); ++s) {
        const std::span<const std::byte> bytes = windows.bytes[s];
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
        const Windows windows(parts);
        if (windows.status.outcome != Outcome::Done) return windows.status;
        if (!guarded(windows.bytes, [&] { take(sha256, open, windows); })) return windows.lostPage();
        for (std::size_t s = 0; s < open.size(); ++s) open[s]->done += parts[s].length;
    }
    for (Stream& stream : streams)
        if (stream.part.last) stream.finish(sha256);
    return {};
}

}  // namespace layerloom
