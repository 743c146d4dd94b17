#include "output_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace layerloom {
int writeAt(int fd, std::uint64_t offset, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t n = pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno;
        if (n == 0) return EIO;
        offset += static_cast<std::uint64_t>(n);
        bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
    return 0;
}

#ifdef __linux__

// off_t has 64 bits here; musl has no off64_t.
static_assert(sizeof(off_t) == sizeof(std::uint64_t));

Copied copyInKernel(int from, std::uint64_t fromOffset, int to, std::uint64_t toOffset,
                    std::uint64_t length) {
    Copied copied{0, 0};
    auto in = static_cast<off_t>(fromOffset);
    auto out = static_cast<off_t>(toOffset);
    while (copied.bytes < length) {
        const ssize_t n = copy_file_range(from, &in, to, &out, length - copied.bytes, 0);
        if (n < 0 && errno == EINTR) continue;
        // The call reads and writes, so only a full disk is certainly a write error. After other failures
        // (other file systems, old kernels, an early 0), the caller copies the rest and learns which side
        // failed.
        if (n < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)) copied.writeError = errno;
        if (n <= 0) break;
        copied.bytes += static_cast<std::uint64_t>(n);
    }
    return copied;
}

void beginWriteBack(int fd, std::uint64_t offset, std::uint64_t length) {
    (void)sync_file_range(fd, static_cast<off_t>(offset), static_cast<off_t>(length), SYNC_FILE_RANGE_WRITE);
}

#else

Copied copyInKernel(int, std::uint64_t, int, std::uint64_t, std::uint64_t) { return {0, 0}; }

void beginWriteBack(int, std::uint64_t, std::uint64_t) {}

#endif

}  // namespace layerloom
