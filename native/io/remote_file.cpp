#include "remote_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <mutex>

namespace layerloom {
namespace {

/// Above every descriptor that Linux allows.
constexpr int kFirstNumber = 1 << 30;

struct Remotes {
    std::mutex mutex;
    std::map<int, std::shared_ptr<const RemoteFile>> files;
    int next = kFirstNumber;
};

Remotes& remotes() {
    // Never freed: a thread may still run a job when the process ends.
    static Remotes& all = *new Remotes;
    return all;
}

}  // namespace

int RemoteFile::readAt(std::uint64_t offset, std::span<std::byte> to) const {
    auto part = std::ranges::upper_bound(parts_, offset, {}, &RemotePart::end);
    while (!to.empty()) {
        if (part == parts_.end()) return EINVAL;
        const std::size_t length = std::min<std::uint64_t>(to.size(), part->end - offset);
        const ssize_t n =
            pread(memory_, to.data(), length, static_cast<off_t>(part->address + (offset - part->begin)));
        if (n < 0 && errno == EINTR) continue;
        // The kernel gives EIO for unmapped memory, which would read like a disk error.
        if (n < 0) return errno == EIO ? EFAULT : errno;
        if (n == 0) return ESRCH;
        offset += static_cast<std::uint64_t>(n);
        to = to.subspan(static_cast<std::size_t>(n));
        if (offset == part->end) ++part;
    }
    return 0;
}

int addRemote(RemoteFile file) {
    Remotes& all = remotes();
    const std::lock_guard lock(all.mutex);
    all.files.emplace(all.next, std::make_shared<const RemoteFile>(std::move(file)));
    return all.next++;
}

void removeRemote(int number) {
    Remotes& all = remotes();
    const std::lock_guard lock(all.mutex);
    all.files.erase(number);
}

std::shared_ptr<const RemoteFile> remoteOf(int fd) {
    if (fd < kFirstNumber) return nullptr;
    Remotes& all = remotes();
    const std::lock_guard lock(all.mutex);
    const auto found = all.files.find(fd);
    return found == all.files.end() ? nullptr : found->second;
}

}  // namespace layerloom
