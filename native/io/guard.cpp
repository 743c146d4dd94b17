#include "guard.hpp"

#include <csignal>
#include <mutex>

namespace layerloom {
namespace {

// Initial-exec: the first access of a thread must not allocate, since it may be the signal handler's.
__attribute__((tls_model("initial-exec"))) thread_local Guard* armed = nullptr;
struct sigaction previous;

bool watches(const Guard& guard, const void* address) {
    const auto* at = static_cast<const std::byte*>(address);
    for (const auto window : guard.windows)
        if (at >= window.data() && at < window.data() + window.size()) return true;
    return false;
}

/// What would have happened without this handler.
void passOn(int signal, siginfo_t* info, void* context) {
    if ((previous.sa_flags & SA_SIGINFO) != 0) return previous.sa_sigaction(signal, info, context);
    if (previous.sa_handler == SIG_IGN) return;
    if (previous.sa_handler != SIG_DFL) return previous.sa_handler(signal);
    // The default ends the process: with it back in place the instruction faults again.
    sigaction(signal, &previous, nullptr);
    raise(signal);
}

void onBusError(int signal, siginfo_t* info, void* context) {
    if (armed != nullptr && watches(*armed, info->si_addr)) siglongjmp(armed->resume, 1);
    passOn(signal, info, context);
}

}  // namespace

void arm(Guard* guard) {
    static std::once_flag installed;
    std::call_once(installed, [] {
        struct sigaction action = {};
        action.sa_sigaction = onBusError;
        // SA_NODEFER: leaving the handler by siglongjmp must not leave the signal blocked.
        action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
        sigemptyset(&action.sa_mask);
        sigaction(SIGBUS, &action, &previous);
    });
    armed = guard;
}

}  // namespace layerloom
