#include "output_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace layerloom {
namespace {

#ifdef __linux__
/// Returns false where the kernel cannot and the buffer must.
bool copyInKernel(int from, std::uint64_t fromOffset, int to, std::uint64_t toOffset, std::uint64_t length,
                  Copied& copied) {
    auto in = static_cast<off64_t>(fromOffset);
    auto out = static_cast<off64_t>(toOffset);
    while (copied.bytes < length) {
        const ssize_t n = copy_file_range(from, &in, to, &out, length - copied.bytes, 0);
        if (n < 0 && errno == EINTR) continue;
        // Reading and writing are one call here. A full disk is a write error; all else (other file systems,
        // old kernels, a zero before the end) is met again by the buffer, which knows which side failed.
        if (n < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)) {
            copied.writeError = errno;
            return true;
        }
        if (n <= 0) return false;
        copied.bytes += static_cast<std::uint64_t>(n);
    }
    return true;
}
#endif

}  // namespace

int writeAt(int fd, std::uint64_t offset, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t n = pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno;
        offset += static_cast<std::uint64_t>(n);
        bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
    return 0;
}

Copied copyRange(int from, std::uint64_t fromOffset, int to, std::uint64_t toOffset, std::uint64_t length,
                 std::span<std::byte> buffer) {
    Copied copied{0, 0, 0};
#ifdef __linux__
    if (copyInKernel(from, fromOffset, to, toOffset, length, copied)) return copied;
#endif
    while (copied.bytes < length) {
        const auto want =
            static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), length - copied.bytes));
        const ssize_t n = pread(from, buffer.data(), want, static_cast<off_t>(fromOffset + copied.bytes));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) copied.readError = errno;
        if (n <= 0) break;
        copied.writeError = writeAt(to, toOffset + copied.bytes, buffer.first(static_cast<std::size_t>(n)));
        if (copied.writeError != 0) break;
        copied.bytes += static_cast<std::uint64_t>(n);
    }
    return copied;
}

}  // namespace layerloom
