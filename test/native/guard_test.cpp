// The guard against SIGBUS: a file that shrinks under its mapping, and the handlers of a host process.
#include "io/guard.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

using namespace layerloom;

namespace {

int checks = 0, failed = 0;

void expect(bool holds, const char* what) {
    ++checks;
    if (holds) return;
    ++failed;
    std::printf("failed: %s\n", what);
}

/// A page of a file that was truncated to nothing since it was mapped.
std::span<const std::byte> lostPage() {
    const auto length = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    char path[] = "/tmp/layerloom-guard-XXXXXX";
    const int fd = mkstemp(path);
    unlink(path);
    void* base = ftruncate(fd, static_cast<off_t>(length)) == 0
                     ? mmap(nullptr, length, PROT_READ, MAP_SHARED, fd, 0)
                     : MAP_FAILED;
    if (base == MAP_FAILED || ftruncate(fd, 0) != 0) std::abort();
    close(fd);
    return {static_cast<const std::byte*>(base), length};
}

void read(std::span<const std::byte> page) { (void)*static_cast<const volatile std::byte*>(page.data()); }

struct sigaction install(void (*handler)(int)) {
    struct sigaction action = {}, former = {};
    action.sa_handler = handler;
    action.sa_flags = SA_NODEFER;
    sigaction(SIGBUS, &action, &former);
    return former;
}

// Handlers of a host.

volatile std::sig_atomic_t returned = 0, left = 0, reported = 0;
sigjmp_buf host;
struct sigaction beforeReporter;

void onReturning(int) { returned = returned + 1; }

void onLeaving(int) {
    left = left + 1;
    siglongjmp(host, 1);
}

/// Like crash reporters: passes the signal on to the handler that it replaced.
void onReporting(int signal, siginfo_t* info, void* context) {
    reported = reported + 1;
    beforeReporter.sa_sigaction(signal, info, context);
}

/// The signal that ends a child running `work`, or 0.
template <class Work>
int endOf(const Work& work) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        work();
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}

}  // namespace

int main() {
    alarm(60);
    const std::span<const std::byte> page = lostPage();
    const std::span<const std::byte> windows[] = {page};
    const auto shrinks = [&] { return !guarded(windows, [&] { read(page); }); };

    expect(endOf([&] { read(page); }) == SIGBUS, "a lost page ends a process without the guard");
    expect(shrinks(), "a guarded read of a lost page says so");
    expect(guarded(windows, [] {}), "a guarded read that ends says so");
    expect(endOf([&] { read(page); }) == SIGBUS,
           "a read of the same page after a guarded one is not guarded");
    expect(endOf([&] { guarded({}, [&] { read(page); }); }) == SIGBUS, "only the windows are guarded");

    install(onLeaving);
    try {
        guarded(windows, [] { throw std::runtime_error("thrown by a read"); });
    } catch (const std::runtime_error&) {
    }
    if (sigsetjmp(host, 1) == 0) read(page);
    expect(left == 1, "an exception disarms the guard");

    install(onReturning);
    expect(shrinks() && returned == 0, "the guard holds where the host has installed a handler since");
    expect(!guarded(windows,
                    [&] {
                        install(onReturning);
                        read(page);
                    }),
           "the guard holds where the host installs a handler that returns during the read");
    expect(returned > 0, "the host's handler had the signals until then");

    returned = 0;
    raise(SIGBUS);
    expect(returned == 1, "a signal from elsewhere goes to the host's handler");

    struct sigaction reporter = {};
    reporter.sa_sigaction = onReporting;
    reporter.sa_flags = SA_SIGINFO;
    expect(!guarded(windows,
                    [&] {
                        sigaction(SIGBUS, &reporter, &beforeReporter);
                        read(page);
                    }) &&
               reported == 1,
           "the guard holds where the host installs a handler that passes signals on to it during the read");
    expect(shrinks() && reported == 1, "and once more, over that handler");
    returned = 0;
    raise(SIGBUS);
    expect(reported == 2 && returned == 1, "a signal goes to each handler of a chain once");

    const auto endAfter = [&](void (*handler)(int), const auto& work) {
        return endOf([&] {
            install(handler);
            if (!shrinks()) _exit(1);
            work();
        });
    };
    const auto fault = [&] { read(page); };
    const auto send = [] { raise(SIGBUS); };
    expect(endAfter(SIG_DFL, send) == SIGBUS,
           "a signal ends the process where the host is back at the default");
    expect(endAfter(SIG_DFL, fault) == SIGBUS, "a fault from elsewhere does too");
    expect(endAfter(SIG_IGN, send) == 0, "a signal is ignored where the host ignores it");
    expect(endAfter(SIG_IGN, fault) == SIGBUS, "a fault cannot be ignored");

    std::printf("%d checks, %d failed\n", checks, failed);
    return failed == 0 ? 0 : 1;
}
