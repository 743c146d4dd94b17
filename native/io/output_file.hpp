#pragma once
#include <cstdint>
#include <span>

namespace layerloom {

/// Writes all of `bytes` at `offset`. Returns 0, or the errno that stopped it.
int writeAt(int fd, std::uint64_t offset, std::span<const std::byte> bytes);

/// Asks the kernel to start writing a range to disk, without waiting. Otherwise dirty pages pile up until
/// writers stall, and the final sync takes long (bench/RESULTS.md). A hint, so errors are ignored.
void beginWriteBack(int fd, std::uint64_t offset, std::uint64_t length);

struct Copied {
    std::uint64_t bytes;  ///< copied before it ended
    int writeError;       ///< errno of a write that cannot succeed otherwise, or 0
};

/// Copies between files in the kernel if it can (copy_file_range, with shared extents where supported). Fewer
/// bytes without an error mean that it cannot, as between two file systems, or that the input ends.
Copied copyInKernel(int from, std::uint64_t fromOffset, int to, std::uint64_t toOffset, std::uint64_t length);

}  // namespace layerloom
