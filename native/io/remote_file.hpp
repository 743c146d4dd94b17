#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace layerloom {

/// Bytes [begin, end) of a remote file are at `address` in the other process.
struct RemotePart {
    std::uint64_t begin, end, address;
};

/// A file whose bytes lie in the memory of another process, in consecutive parts.
class RemoteFile {
  public:
    /// @param memory `/proc/PID/mem`, open for reading. It stays with that process even if its PID is reused
    RemoteFile(int memory, std::vector<RemotePart> parts) : memory_(memory), parts_(std::move(parts)) {}

    std::uint64_t size() const { return parts_.empty() ? 0 : parts_.back().end; }

    /// Fills `to` with the bytes from `offset` on, which must be within the file. Returns 0 or an errno:
    /// EFAULT if memory was freed, ESRCH if the process has ended.
    int readAt(std::uint64_t offset, std::span<std::byte> to) const;

  private:
    int memory_;
    std::vector<RemotePart> parts_;
};

/// Returns a number that stands for the file in jobs, above all descriptors of the system.
int addRemote(RemoteFile file);

/// Removes the file; jobs that read it keep it until they end.
void removeRemote(int number);

/// Returns null for a file descriptor, and for the number of a removed file: reading from that fails.
std::shared_ptr<const RemoteFile> remoteOf(int fd);

}  // namespace layerloom
