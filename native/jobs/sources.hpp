#pragma once
#include <span>
#include <vector>

#include "../io/mapped_file.hpp"
#include "status.hpp"

namespace layerloom {

/// Whether `length` bytes of a range lie in its file, as that is now; `s` is which source it is.
Status checkBounds(const Range& range, std::uint64_t length, std::size_t s);

/// The sources of a job, mapped: windows of its slice, not of files.
struct Windows {
    /// `length` gives each source's bytes.
    template <class Length>
    Windows(std::span<const Range> sources, const Length& length) {
        for (std::size_t s = 0; s < sources.size() && status.outcome == Outcome::Done; ++s)
            map(sources[s], length(sources[s]), s);
    }

    std::vector<std::span<const std::byte>> bytes;
    /// Done, or why a source could not be mapped.
    Status status;

    /// Why a mapped page could not be read: its file has shrunk, or the disk failed.
    Status lostPage() const;

  private:
    void map(const Range& range, std::uint64_t length, std::size_t s);

    std::vector<MappedFile> files_;
    std::vector<Range> ranges_;
};

}  // namespace layerloom
