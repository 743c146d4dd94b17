#pragma once
#include <cstdint>
#include <span>

namespace layerloom {

/// Writes all of `bytes` at `offset`. Returns 0, or the errno of what stopped it.
int writeAt(int fd, std::uint64_t offset, std::span<const std::byte> bytes);

struct Copied {
    std::uint64_t bytes;  ///< copied before it ended
    int readError;        ///< errno of reading, or 0
    int writeError;       ///< errno of writing, or 0
};

/// Copies `length` bytes between files without their passing through this process where the kernel can
/// (copy_file_range: also shared extents on file systems that have them), else through `buffer`. Fewer bytes
/// than asked for and no error: the input ends there.
Copied copyRange(int from, std::uint64_t fromOffset, int to, std::uint64_t toOffset, std::uint64_t length,
                 std::span<std::byte> buffer);

}  // namespace layerloom
