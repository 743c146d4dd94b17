#include "guard.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <mutex>
#include <thread>

namespace layerloom {
namespace {

/// A handler that this handler replaced, and the handler replaced before that.
struct Former {
    struct sigaction action;
    const Former* older;
};

/// Never freed: a signal handler may be reading it.
std::atomic<const Former*> newest = nullptr;
static_assert(std::atomic<const Former*>::is_always_lock_free);

// The signal handler may be the first access in a thread, which must not allocate. glibc allocates unless the
// model is initial-exec. musl allocates at dlopen, and cannot load that model.
#ifdef __GLIBC__
#define LAYERLOOM_THREAD_LOCAL __attribute__((tls_model("initial-exec"))) thread_local
#else
#define LAYERLOOM_THREAD_LOCAL thread_local
#endif

LAYERLOOM_THREAD_LOCAL Guard* armed = nullptr;
/// The handler that runs now because this thread's signal was passed to it; otherwise null.
LAYERLOOM_THREAD_LOCAL const Former* passedTo = nullptr;

std::atomic<int> guards = 0;

bool watches(const Guard& guard, const void* address) {
    const auto* at = static_cast<const std::byte*>(address);
    for (const auto window : guard.windows)
        if (at >= window.data() && at < window.data() + window.size()) return true;
    return false;
}

bool takesInfo(const struct sigaction& action) { return (action.sa_flags & SA_SIGINFO) != 0; }

bool isHandler(const struct sigaction& action) {
    return takesInfo(action) || (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
}

bool isSame(const struct sigaction& a, const struct sigaction& b) {
    if (takesInfo(a) != takesInfo(b)) return false;
    return takesInfo(a) ? a.sa_sigaction == b.sa_sigaction : a.sa_handler == b.sa_handler;
}

/// Restores the default action and raises the signal again, which ends the process.
void endProcess(int signal) {
    struct sigaction action = {};
    action.sa_handler = SIG_DFL;
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, nullptr);
    raise(signal);
}

/// Does what would have happened without our handler.
void passOn(int signal, siginfo_t* info, void* context) {
    // A handler may pass a signal on to the handler it replaced, which may be this one.
    const Former* const outer = passedTo;
    const Former* const to = outer != nullptr ? outer->older : newest.load();
    if (to == nullptr || !isHandler(to->action)) {
        // A process may ignore a signal that another sent, but not a fault.
        const bool isIgnored = to != nullptr && to->action.sa_handler == SIG_IGN && info->si_code <= 0;
        if (!isIgnored) endProcess(signal);
        return;
    }
    passedTo = to;
    if (takesInfo(to->action))
        to->action.sa_sigaction(signal, info, context);
    else
        to->action.sa_handler(signal);
    passedTo = outer;
}

void onBusError(int signal, siginfo_t* info, void* context) {
    if (armed != nullptr && watches(*armed, info->si_addr)) siglongjmp(armed->resume, 1);
    passOn(signal, info, context);
}

/// Returns the action for SIGBUS, and replaces it if `action` is given.
struct sigaction replaceAction(const struct sigaction* action) {
    struct sigaction replaced = {};
    sigaction(SIGBUS, action, &replaced);
    return replaced;
}

void passOnTo(const struct sigaction& action) {
    for (const Former* former = newest; former != nullptr; former = former->older)
        if (isSame(former->action, action)) return newest.store(former);
    newest.store(new Former{action, isHandler(action) ? newest.load() : nullptr});
}

void install() {
    struct sigaction action = {};
    action.sa_sigaction = onBusError;
    // SA_NODEFER: a host's handler may leave by siglongjmp, which must not leave the signal blocked.
    action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    if (isSame(replaceAction(nullptr), action)) return;
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    // Records the former handler before ours can run. Repeats if the host changed the handler meanwhile.
    for (struct sigaction former = replaceAction(nullptr); !isSame(former, action);
         former = replaceAction(&action))
        passOnTo(former);
}

/// Reinstalls our handler while a guard is armed: with a host's handler that returns, a guarded read would
/// fault forever.
void watch() {
    // Leaves the process's signals to the host's threads.
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    for (;;) {
        guards.wait(0);
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        install();
    }
}

}  // namespace

void arm(Guard& guard) {
    static std::once_flag watched;
    install();
    std::call_once(watched, [] { std::thread(watch).detach(); });
    passedTo = nullptr;
    armed = &guard;
    if (guards.fetch_add(1) == 0) guards.notify_one();
}

void disarm() {
    if (armed == nullptr) return;
    armed = nullptr;
    guards.fetch_sub(1);
}

}  // namespace layerloom
