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

/// Arms `guard` for this thread, or none; installs the process's SIGBUS handler the first time.
void arm(Guard* guard);

/// Runs `read`, which may read the bytes of `windows`, and returns whether it ended: false when one of them
/// lay beyond the end of its file, which has shrunk since it was mapped. A SIGBUS from anywhere else goes
/// where it would have gone.
///
/// `read` is left half-way then, without unwinding: what it owns at that moment is lost, as is the run.
template <class Read>
bool guarded(std::span<const std::span<const std::byte>> windows, Read&& read) {
    Guard guard{windows, {}};
    if (sigsetjmp(guard.resume, 0) != 0) {
        arm(nullptr);
        return false;
    }
    arm(&guard);
    read();
    arm(nullptr);
    return true;
}

}  // namespace layerloom
