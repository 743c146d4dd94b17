#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "../io/mapped_file.hpp"
#include "../kernels/dtype.hpp"
#include "status.hpp"

namespace layerloom {

/// The first byte of a tensor, in an open file.
struct Location {
    int fd;
    std::uint64_t begin;
};

/// Bytes of an open file.
struct Range {
    int fd;
    std::uint64_t offset, length;
};

/// Which part of a source a slice of the output is made of.
enum class Slicing : std::uint8_t {
    Elements,  ///< element i of the output, of element i of the source
};

/// A stored tensor that a program is over.
struct StoredSource {
    Location at;
    DType dtype;
    Slicing slicing;
};

/// `count` elements of `width` bytes, from element `first` of a tensor on.
constexpr Range rangeOf(const Location& at, std::size_t width, std::uint64_t first, std::uint64_t count) {
    return {at.fd, at.begin + first * width, count * width};
}

/// The bytes of a source that elements [first, first + count) of the output are made of.
Range windowOf(const StoredSource& source, std::uint64_t first, std::uint64_t count);

/// The sources of a job, mapped: windows of its slice, not of files.
struct Windows {
    explicit Windows(std::span<const Range> ranges);

    std::vector<std::span<const std::byte>> bytes;
    /// Done, or why a source could not be mapped.
    Status status;

    /// Why a mapped page could not be read: its file has shrunk, or the disk failed.
    Status lostPage() const;

  private:
    std::vector<MappedFile> files_;
    std::vector<Range> ranges_;
};

}  // namespace layerloom
