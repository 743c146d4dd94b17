#include "staging.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <cstdio>

namespace layerloom {

int lockFile(int fd) { return flock(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : errno; }

int exchange(const std::string& a, const std::string& b) {
#if defined(RENAME_EXCHANGE)
    if (renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0) return 0;
    return errno == EINVAL || errno == ENOSYS ? ENOTSUP : errno;
#elif defined(RENAME_SWAP)
    return renamex_np(a.c_str(), b.c_str(), RENAME_SWAP) == 0 ? 0 : errno;
#else
    return ENOTSUP;
#endif
}

}  // namespace layerloom
