#pragma once
#include <string>

namespace layerloom {

/// Takes an exclusive lock on an open file, until it is closed or the process ends. Returns 0, EWOULDBLOCK if
/// it is held, or another errno.
int lockFile(int fd);

/// Exchanges two directory entries atomically. Returns 0, or an errno; ENOTSUP if not supported.
int exchange(const std::string& a, const std::string& b);

}  // namespace layerloom
