#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "../io/mapped_file.hpp"
#include "../io/remote_file.hpp"
#include "../kernels/dtype.hpp"
#include "status.hpp"

namespace layerloom {

/// The start of a tensor in an open file.
struct Location {
    int fd;
    std::uint64_t begin;
};

struct Range {
    int fd;
    std::uint64_t offset, length;
};

/// The part of a source that a slice needs.
enum class Slicing : std::uint8_t {
    Elements,  ///< element i of the output needs element i of the source
    Rows,      ///< runs map rows of the source to rows of the output; others are 0
    Whole,     ///< every slice needs the whole source, which has another shape: a product's factor
};

/// Output rows [to, to + count) are source rows [from, from + count).
struct RowRun {
    std::uint64_t to, from, count;
};

struct StoredSource {
    Location at;
    DType dtype;
    Slicing slicing;
    std::uint64_t width = 1;     ///< Rows: elements of a row
    std::vector<RowRun> runs;    ///< Rows: runs within the slice, ascending and disjoint
    std::uint64_t elements = 0;  ///< Whole: elements of the source
};

/// Calls work(run, elements into it, offset in the tile, length) for each piece of a run among elements
/// [first, first + count); between runs, `run` is null. Runs have `to` and `count`, ascend, and do not
/// overlap.
template <class Run, class Work>
void forEachRun(std::span<const Run> runs, std::uint64_t width, std::uint64_t first, std::size_t count,
                const Work& work) {
    const auto endOf = [&](const Run& run) { return (run.to + run.count) * width; };
    auto run = std::ranges::upper_bound(runs, first, {}, endOf);
    for (std::size_t at = 0; at < count;) {
        const std::uint64_t element = first + at;
        const bool isIn = run != runs.end() && run->to * width <= element;
        const std::uint64_t next = run == runs.end() ? first + count : isIn ? endOf(*run) : run->to * width;
        const std::size_t length = std::min<std::uint64_t>(count - at, next - element);
        isIn ? work(&*run, element - run->to * width, at, length)
             : work(nullptr, std::uint64_t{0}, at, length);
        if (isIn && next == element + length) ++run;
        at += length;
    }
}

constexpr Range rangeOf(const Location& at, std::size_t width, std::uint64_t first, std::uint64_t count) {
    return {at.fd, at.begin + first * width, count * width};
}

/// Returns the range from the first to the last byte that elements [first, first + count) of the output need.
Range windowOf(const StoredSource& source, std::uint64_t first, std::uint64_t count);

/// Returns the number of bytes that elements [first, first + count) of the output need. A source that is read
/// whole counts once, with element 0.
std::uint64_t bytesRead(const StoredSource& source, std::uint64_t first, std::uint64_t count);

/// Thrown while a remote file is read, if its memory was freed or its process has ended.
struct LostSource {
    Status status;
};

/// Windows on a job's sources that cover its slice, not whole files. They are mapped, or of a remote file
/// read in tiles.
struct Windows {
    /// @param first number of the first source in statuses
    explicit Windows(std::span<const Range> ranges, std::size_t first = 0,
                     Access access = Access::Sequential);
    ~Windows();

    /// Returns bytes [begin, begin + length) of a source's window. If the file is remote, they are valid until
    /// the next call for other bytes of the source.
    ///
    /// @throws LostSource
    const std::byte* at(std::size_t source, std::uint64_t begin, std::size_t length) const;
    const std::byte* whole(std::size_t source) const { return at(source, 0, ranges_[source].length); }

    /// The mapped windows, to guard; empty for a remote file.
    std::vector<std::span<const std::byte>> bytes;
    /// Done, or the reason why a source could not be mapped.
    Status status;

    /// Returns why a mapped page could not be read: its file shrank, or the disk failed.
    Status lostPage() const;

  private:
    Status checkBounds(std::size_t source) const;

    /// Bytes [begin, end) of a remote file's window.
    struct Tile {
        std::shared_ptr<const RemoteFile> file;
        std::vector<std::byte> buffer = {};
        std::uint64_t begin = 0, end = 0;
    };

    std::size_t first_;
    mutable std::vector<Tile> tiles_;  ///< for each source; without a file for mapped ones
    std::vector<MappedFile> files_;
    std::vector<Range> ranges_;
};

}  // namespace layerloom
