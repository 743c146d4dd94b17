#pragma once
#include <cstdint>
#include <span>

namespace layerloom {

/// Writes all of `bytes` at `offset`. Returns 0, or the errno of what stopped it.
int writeAt(int fd, std::uint64_t offset, std::span<const std::byte> bytes);

/// Asks the kernel to begin writing a range to the disk and does not wait: so that dirty pages do not pile up
/// until writers are stalled, and little is left for the final sync (bench/RESULTS.md). A hint, without
/// errors.
void beginWriteBack(int fd, std::uint64_t offset, std::uint64_t length);

struct Copied {
    std::uint64_t bytes;  ///< copied before it ended
    int writeError;       ///< errno of a write that cannot succeed otherwise, or 0
};

/// Copies between files without the bytes passing through this process, where the kernel can
/// (copy_file_range: also shared extents on file systems that have them). Fewer bytes than asked for and no
/// error: it cannot, as between two file systems, or the input ends there.
Copied copyInKernel(int from, std::uint64_t fromOffset, int to, std::uint64_t toOffset, std::uint64_t length);

}  // namespace layerloom
