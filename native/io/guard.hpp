#pragma once
#include <csetjmp>
#include <cstddef>
#include <span>

namespace layerloom {

/// The state of one guarded read, on its thread's stack.
struct Guard {
    std::span<const std::span<const std::byte>> windows;
    sigjmp_buf resume;
};

/// Arms `guard` for this thread. The process's SIGBUS handler is the guard's from now on: where the host has
/// installed one since, the guard's is put over it and passes on to it.
void arm(Guard& guard);

/// Disarms this thread's guard, if there is one.
void disarm();

/// Runs `read`, which may read the bytes of `windows`, and returns whether it ended: false when one of them
/// lay beyond the end of its file, which has shrunk since it was mapped. A SIGBUS from anywhere else goes
/// where it would have gone.
///
/// `read` is left half-way then, without unwinding: what it owns at that moment is lost, as is the run.
///
/// A host may install a handler while `read` runs. One that returns is found by a thread that looks every few
/// milliseconds; one that ends the process, SIG_DFL among them, ends it if the file shrinks before the next
/// `arm`.
template <class Read>
bool guarded(std::span<const std::span<const std::byte>> windows, Read&& read) {
    // In the frame that siglongjmp returns to, so that every way out of it disarms: an exception too.
    struct Disarming {
        ~Disarming() { disarm(); }
    } const disarming;
    Guard guard{windows, {}};
    // With the signal mask: the handler may have been called by a host's, under which signals are blocked.
    if (sigsetjmp(guard.resume, 1) != 0) return false;
    arm(guard);
    read();
    return true;
}

}  // namespace layerloom
