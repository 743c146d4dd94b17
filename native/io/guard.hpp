#pragma once
#include <csetjmp>
#include <cstddef>
#include <span>

namespace layerloom {

/// State of a guarded read, on its thread's stack.
struct Guard {
    std::span<const std::span<const std::byte>> windows;
    sigjmp_buf resume;
};

/// Arms `guard` for this thread. Installs the guard's SIGBUS handler; if the host has installed another
/// since, wraps it and passes signals on to it.
void arm(Guard& guard);

/// Disarms this thread's guard, if there is one.
void disarm();

/// Runs `read`, which may read the bytes of `windows`. Returns false if one of them is beyond the end of its
/// file, which has shrunk since it was mapped. A SIGBUS from anywhere else is passed on.
///
/// In that case `read` is left without unwinding: everything it owns at that moment leaks.
///
/// A host may install a handler while `read` runs. A handler that returns is replaced within milliseconds. A
/// handler that ends the process, such as SIG_DFL, ends it if the file shrinks before the next `arm`.
template <class Read>
bool guarded(std::span<const std::span<const std::byte>> windows, Read&& read) {
    // In the frame to which siglongjmp returns, so that every exit disarms, exceptions included.
    struct Disarming {
        ~Disarming() { disarm(); }
    } const disarming;
    Guard guard{windows, {}};
    // Saves the signal mask: a host's handler, during which signals are blocked, may have called ours.
    if (sigsetjmp(guard.resume, 1) != 0) return false;
    arm(guard);
    read();
    return true;
}

}  // namespace layerloom
