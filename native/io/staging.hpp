#pragma once
#include <string>

namespace layerloom {

/// Takes an exclusive lock on an open file without waiting, until the file is closed or the process ends.
/// Returns 0, EWOULDBLOCK if another process holds it, or another errno.
int lockFile(int fd);

/// Exchanges two directory entries atomically. Returns 0, or an errno; ENOTSUP if that is not supported.
int exchange(const std::string& a, const std::string& b);

}  // namespace layerloom
