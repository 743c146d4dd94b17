#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace layerloom {

/// Whether bytes around a window are used too.
enum class Access : std::uint8_t {
    Sequential,  ///< the next window follows: the kernel reads ahead
    Scattered,   ///< only the window is used: the kernel reads its bytes, at once, and no others
};

/// A read-only window on a file. Windows have a few MiB, so that the resident set stays small for any
/// checkpoint.
///
/// Reading beyond the file's end raises SIGBUS, even if the file shrinks later: read within `guarded`
/// (guard.hpp).
class MappedFile {
  public:
    /// Maps `length` bytes from `offset`. Sequential windows get no advice, since the kernel's own read-ahead
    /// was fastest (bench/RESULTS.md). On failure, `error()` is the errno, and `bytes()` is empty, as for
    /// length 0.
    MappedFile(int fd, std::uint64_t offset, std::size_t length, Access access);
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
