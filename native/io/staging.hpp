#pragma once
#include <string>

namespace layerloom {

/// Takes the exclusive lock of an open file without waiting; it is held until the file is closed or the
/// process ends, however it ends. Returns 0, EWOULDBLOCK when another process holds it, or another errno.
int lockFile(int fd);

/// Exchanges two directory entries in one step. Returns 0, or an errno; ENOTSUP where there is no such step.
int exchange(const std::string& a, const std::string& b);

}  // namespace layerloom
