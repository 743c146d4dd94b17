#include "guard.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <mutex>
#include <thread>

namespace layerloom {
namespace {

/// A handler that the guard's was put over, and what that one had been put over itself.
struct Former {
    struct sigaction action;
    const Former* older;
};

/// Never freed, since a signal handler may be reading: one for each time that a host changes the handler.
std::atomic<const Former*> newest = nullptr;
static_assert(std::atomic<const Former*>::is_always_lock_free);

// A thread's first access must not allocate, since it may be the signal handler's. glibc allocates then,
// unless the model is initial-exec; musl has allocated at dlopen, and loads no library of that model.
#ifdef __GLIBC__
#define LAYERLOOM_THREAD_LOCAL __attribute__((tls_model("initial-exec"))) thread_local
#else
#define LAYERLOOM_THREAD_LOCAL thread_local
#endif

LAYERLOOM_THREAD_LOCAL Guard* armed = nullptr;
/// The handler that this thread's signal was passed on to, while that one runs.
LAYERLOOM_THREAD_LOCAL const Former* passedTo = nullptr;

/// Guards that are armed, of all threads.
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

/// The default ends the process: with it in place the instruction faults again.
void endProcess(int signal) {
    struct sigaction action = {};
    action.sa_handler = SIG_DFL;
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, nullptr);
    raise(signal);
}

/// What would have happened without this handler.
void passOn(int signal, siginfo_t* info, void* context) {
    // A handler may pass a signal on itself, to the one that it replaced: to this one again.
    const Former* const outer = passedTo;
    const Former* const to = outer != nullptr ? outer->older : newest.load();
    if (to == nullptr || !isHandler(to->action)) {
        // A fault cannot be ignored, only a signal that was sent.
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

/// Returns the action of SIGBUS, and sets it where another is given. The call has no way to fail.
struct sigaction replaceAction(const struct sigaction* action) {
    struct sigaction replaced = {};
    sigaction(SIGBUS, action, &replaced);
    return replaced;
}

/// Makes `action` what signals are passed on to.
void passOnTo(const struct sigaction& action) {
    for (const Former* former = newest; former != nullptr; former = former->older)
        if (isSame(former->action, action)) return newest.store(former);
    newest.store(new Former{action, isHandler(action) ? newest.load() : nullptr});
}

/// Puts the handler in its place, unless it is there.
void install() {
    struct sigaction action = {};
    action.sa_sigaction = onBusError;
    // SA_NODEFER: a host's handler may leave by siglongjmp too, which must not leave the signal blocked.
    action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    if (isSame(replaceAction(nullptr), action)) return;
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    // Before the handler can run, and again where the host was between the two calls.
    for (struct sigaction former = replaceAction(nullptr); !isSame(former, action);
         former = replaceAction(&action))
        passOnTo(former);
}

/// A handler that a host installs while a guarded read runs, and that returns, would have the read fault for
/// ever. So this thread looks for one as long as any guard is armed.
void watch() {
    // Signals of the process are for the host's threads.
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
