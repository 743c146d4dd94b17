#pragma once
#include <csetjmp>
#include <cstddef>
#include <span>

namespace layerloom {

struct Guard {
    std::span<const std::span<const std::byte>> windows;
    sigjmp_buf resume;
};

/// Arms `guard` for this thread. Installs the SIGBUS handler, which passes unguarded signals on to the
/// host's.
void arm(Guard& guard);

void disarm();

/// Runs `read`, which may read the bytes of `windows`. Returns false if one of these bytes is beyond the end
/// of its file, which has shrunk since it was mapped. Then `read` is left without unwinding, and leaks what
/// it owns. Passes on a SIGBUS with another cause.
///
/// If a host installs a handler meanwhile: one that returns is replaced within milliseconds; one that ends
/// the process, such as SIG_DFL, ends it if the file shrinks before the next `arm`.
template <class Read>
bool guarded(std::span<const std::span<const std::byte>> windows, Read&& read) {
    // Lives in the frame to which siglongjmp returns, so that every way out disarms the guard.
    struct Disarming {
        ~Disarming() { disarm(); }
    } const disarming;
    Guard guard{windows, {}};
    // Saves the signal mask, because a host's handler may have called this one with signals blocked.
    if (sigsetjmp(guard.resume, 1) != 0) return false;
    arm(guard);
    read();
    return true;
}

}  // namespace layerloom
