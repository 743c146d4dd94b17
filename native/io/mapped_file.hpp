#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace layerloom {

/// A read-only window on a file, unmapped when it goes out of scope. Windows are slices of a few MiB, never
/// whole files: so the resident set stays small, whatever the checkpoint's size.
///
/// Reading beyond the file's end raises SIGBUS, also when the file shrinks under the mapping: read within
/// `guarded` (guard.hpp).
class MappedFile {
  public:
    /// Maps `length` bytes from `offset`, without advice: the kernel's own read-ahead was faster than any,
    /// for files in the page cache and on the disk (bench/RESULTS.md). Where the mapping fails, `error()` is
    /// the errno and `bytes()` is empty, as it is for a length of 0.
    MappedFile(int fd, std::uint64_t offset, std::size_t length);
    ~MappedFile();

    MappedFile(MappedFile&& other) noexcept;
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(MappedFile&&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    int error() const { return error_; }
    std::span<const std::byte> bytes() const { return bytes_; }

  private:
    void* base_ = nullptr;
    std::size_t mapped_ = 0;
    std::span<const std::byte> bytes_;
    int error_ = 0;
};

}  // namespace layerloom
