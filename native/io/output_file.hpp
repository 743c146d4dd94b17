#pragma once
#include <cstdint>
#include <span>

namespace layerloom {

/// Returns 0, or the errno that stopped it.
int writeAt(int fd, std::uint64_t offset, std::span<const std::byte> bytes);

/// Starts writing a range to disk, without waiting: otherwise writers stall on dirty pages, and the final
/// sync takes long (bench/RESULTS.md). Errors are ignored.
void beginWriteBack(int fd, std::uint64_t offset, std::uint64_t length);

struct Copied {
    std::uint64_t bytes;  ///< copied before it ended
    int writeError;       ///< errno of a write that cannot succeed otherwise, or 0
};

/// Copies in the kernel if it can (copy_file_range, perhaps with shared extents). Fewer bytes without an
/// error: it cannot, as between two file systems, or the input ends.
Copied copyInKernel(int from, std::uint64_t fromOffset, int to, std::uint64_t toOffset, std::uint64_t length);

}  // namespace layerloom
