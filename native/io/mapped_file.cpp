#include "mapped_file.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace layerloom {
MappedFile::MappedFile(int fd, std::uint64_t offset, std::size_t length, Access access) {
    // mmap refuses an empty mapping.
    if (length == 0) return;
    static const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    const auto lead = static_cast<std::size_t>(offset % page);
    void* base = mmap(nullptr, lead + length, PROT_READ, MAP_SHARED, fd, static_cast<off_t>(offset - lead));
    if (base == MAP_FAILED) {
        error_ = errno;
        return;
    }
    base_ = base;
    mapped_ = lead + length;
    if (access == Access::Scattered) {
        // Without advice, a fault would read as much as the disk's read-ahead on both sides, often MiB. The
        // second advice starts to read the whole window. A kernel that ignores either is only slower.
        madvise(base, mapped_, MADV_RANDOM);
        madvise(base, mapped_, MADV_WILLNEED);
    }
    bytes_ = {static_cast<const std::byte*>(base) + lead, length};
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)),
      mapped_(std::exchange(other.mapped_, 0)),
      bytes_(std::exchange(other.bytes_, {})),
      error_(other.error_) {}

MappedFile::~MappedFile() {
    if (base_ != nullptr) munmap(base_, mapped_);
}

}  // namespace layerloom
