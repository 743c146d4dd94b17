#pragma once
#include <string>

namespace layerloom {

/// Takes an exclusive lock on an open file, which ends when the file is closed or the process ends. Returns
/// 0, EWOULDBLOCK if another process has the lock, or another errno.
int lockFile(int fd);

/// Exchanges two directory entries atomically. Returns 0 or an errno: ENOTSUP if the file system cannot.
int exchange(const std::string& a, const std::string& b);

}  // namespace layerloom
