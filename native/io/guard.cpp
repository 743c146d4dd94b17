#include "guard.hpp"

#include <csignal>
#include <mutex>

namespace layerloom {
namespace {

thread_local Guard* armed = nullptr;
struct sigaction previous;

bool watches(const Guard& guard, const void* address) {
    const auto* at = static_cast<const std::byte*>(address);
    for (const auto window : guard.windows)
        if (at >= window.data() && at < window.data() + window.size()) return true;
    return false;
}

void onBusError(int signal, siginfo_t* info, void*) {
    if (armed != nullptr && watches(*armed, info->si_addr)) siglongjmp(armed->resume, 1);
    // Not ours: with the former disposition back in place, the instruction faults again and is met by it.
    sigaction(signal, &previous, nullptr);
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
