#pragma once
#include <cstdint>
#include <span>

namespace layerloom {

/// Returns 0, or the errno that ended the write.
int writeAt(int fd, std::uint64_t offset, std::span<const std::byte> bytes);

/// Starts writing a range to disk, without waiting. Otherwise writers stall on dirty pages, and the final
/// sync takes long (bench/RESULTS.md). Errors are ignored.
void beginWriteBack(int fd, std::uint64_t offset, std::uint64_t length);

struct Copied {
    std::uint64_t bytes;  ///< bytes copied before the copy ended
    int writeError;       ///< errno if the disk or a quota is full or the file too large, or 0
};

/// Copies in the kernel (copy_file_range, perhaps with shared extents). If it copies fewer bytes without an
/// error, the kernel cannot copy, as between two file systems, or the input has ended.
Copied copyInKernel(int from, std::uint64_t fromOffset, int to, std::uint64_t toOffset, std::uint64_t length);

}  // namespace layerloom
