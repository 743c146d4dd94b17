#include "turns.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace turns {
namespace {

// The shared file, which schedule.mjs fills and reads by offsets.

constexpr int processes = 8, jumps = 8, passed = 256;

enum State : std::uint32_t { away, running, waiting, sleeping };
enum Status : std::uint32_t { none, expected, in, over, dying };
enum Turn : std::int32_t { noTurn, go, die, look };
/// How a dead process's number appears: free, used by another process, or hidden.
enum Number : std::uint32_t { isFree, isUsedAgain, isHidden };

struct Unit {
    State state;
    std::atomic<std::int32_t> turn;
    /// Remaining milliseconds of sleep, -1 until an event; milliseconds that passed while it waited for its
    /// turn.
    std::int64_t sleep;
};

struct Process {
    Status status;
    std::int32_t pid;
    /// The turn, from 1, before which it dies; 0 never. Whether another process takes its number.
    std::uint32_t diesAt, isReplaced;
    Number number;
    std::uint32_t turnsTaken;
    /// Nanoseconds that it or another slept.
    std::int64_t slept;
    Unit units[2];
};

struct Jump {
    /// The number of turns before the jump, and its seconds.
    std::uint32_t at;
    std::int32_t by;
};

/// From this moment the file system's clock is that many seconds ahead.
struct Passed {
    std::int64_t from, ahead;
};

struct Shared {
    std::atomic<std::uint32_t> lock;
    std::uint32_t turns, most, isHung;
    std::uint64_t random;
    /// Chances out of 256: that a process keeps the turn, and that a sleeper wakes while other processes could run.
    std::uint32_t stays, wakes;
    std::int32_t last;
    std::uint32_t passedCount;
    std::int64_t sleptUnnoted;
    /// Takeovers of claims, counted by the names that a process makes for them.
    std::uint64_t takenOver;
    Jump jumps[turns::jumps];
    Process processes[turns::processes];
    Passed passed[turns::passed];
    /// Numbers of dead processes, and how they appear.
    std::uint32_t deadCount;
    struct {
        std::int32_t pid;
        Number number;
    } dead[64];
};
static_assert(offsetof(Shared, jumps) == 56 && offsetof(Shared, processes) == 120);
static_assert(sizeof(Process) == 64 && sizeof(Unit) == 16);

std::atomic<Shared*> shared = nullptr;
std::atomic<Process*> self = nullptr;
std::atomic<pthread_cond_t*> poolCondition = nullptr;
std::atomic<bool> isPoolAway = false;
thread_local bool isPoolThread = false;
int noteFd = -1;

long futex(std::atomic<std::uint32_t>* word, int operation, std::uint32_t value, const timespec* time) {
    return syscall(SYS_futex, word, operation, value, time, nullptr, 0);
}

void unlock() {
    auto& word = shared.load()->lock;
    if (word.exchange(0) == 2) futex(&word, FUTEX_WAKE, 1, nullptr);
}

/// Set under the lock: afterwards no thread of this process takes the lock, since it would not release it.
bool isDying = false;

void lock() {
    auto& word = shared.load()->lock;
    std::uint32_t free = 0;
    if (!word.compare_exchange_strong(free, 1))
        while (word.exchange(2) != 0) futex(&word, FUTEX_WAIT, 2, nullptr);
    if (!isDying) return;
    unlock();
    for (;;) pause();
}

void give(Unit& unit, Turn turn) {
    unit.state = running;
    unit.turn = turn;
    futex(reinterpret_cast<std::atomic<std::uint32_t>*>(&unit.turn), FUTEX_WAKE, INT_MAX, nullptr);
}

/// A number below `end`, from a generator like choose.mjs's (splitmix64).
std::uint32_t below(std::uint32_t end) {
    std::uint64_t mixed = shared.load()->random += 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    mixed ^= mixed >> 31;
    return static_cast<std::uint32_t>(mixed >> 32) % end;
}

/// True for an ended process, even before its parent has waited for it.
bool hasEnded(int pid) {
    char path[64], text[512];
    std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
    const long fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return true;
    const long n = syscall(SYS_read, fd, text, sizeof text - 1);
    syscall(SYS_close, fd);
    if (n <= 0) return true;
    text[n] = '\0';
    const char* end = std::strrchr(text, ')');
    return end != nullptr && (end[2] == 'Z' || end[2] == 'X');
}

timespec ticked() {
    timespec now;
    syscall(SYS_clock_gettime, CLOCK_REALTIME_COARSE, &now);
    return now;
}

std::int64_t nanosecondsOf(const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; }

/// Moves the file system's clock between two of its ticks.
void jump(std::int64_t seconds) {
    Shared& all = *shared;
    if (all.passedCount == turns::passed) return;
    const std::int64_t before = nanosecondsOf(ticked());
    std::int64_t now = before;
    while (now == before) now = nanosecondsOf(ticked());
    const std::int64_t ahead = all.passedCount == 0 ? 0 : all.passed[all.passedCount - 1].ahead;
    all.passed[all.passedCount++] = {now, ahead + seconds};
}

/// The longest call, in milliseconds: with calls of ten seconds heartbeats would come too late, and a
/// takeover would be no bug.
constexpr std::int64_t longest = 2'000;

/// Lets time pass for all: sleepers have less left to sleep, waiters have waited longer.
void pass(std::int64_t ms) {
    Shared& all = *shared;
    for (Process& process : all.processes) {
        if (process.status != in) continue;
        process.slept += ms * 1'000'000;
        for (Unit& unit : process.units) {
            if (unit.state == waiting) unit.sleep += ms;
            if (unit.state == sleeping && unit.sleep > 0)
                unit.sleep = std::max<std::int64_t>(0, unit.sleep - ms);
        }
    }
    all.sleptUnnoted += ms;
    // Advances the shared clock too, in steps large enough that all fit in the file.
    if (all.sleptUnnoted < 20'000) return;
    jump(all.sleptUnnoted / 1000);
    all.sleptUnnoted = 0;
}

/// Gives the next turn if nobody runs. Call under the lock.
void decide() {
    Shared& all = *shared;
    if (all.isHung != 0) return;
    struct {
        int process, unit;
    } ready[2 * processes], asleep[2 * processes];
    int readyCount = 0, asleepCount = 0;
    std::int64_t waited = 0, earliest = 0;
    for (int index = 0; index < processes; ++index) {
        Process& process = all.processes[index];
        if (process.status == expected) return;
        if (process.status == dying) {
            if (!hasEnded(process.pid)) return;
            process.status = process.isReplaced != 0 ? expected : over;
            if (process.isReplaced != 0) return;
        }
        if (process.status != in) continue;
        for (int unit = 0; unit < 2; ++unit) {
            const Unit& one = process.units[unit];
            if (one.state == running) return;
            if (one.state == waiting) {
                ready[readyCount++] = {index, unit};
                waited = std::max(waited, one.sleep);
            }
            if (one.state != sleeping || one.sleep < 0) continue;
            // Only the first sleeper to wake.
            if (asleepCount > 0 && one.sleep > earliest) continue;
            if (asleepCount > 0 && one.sleep < earliest) asleepCount = 0;
            earliest = one.sleep;
            asleep[asleepCount++] = {index, unit};
        }
    }
    if (readyCount + asleepCount == 0) return;
    if (all.turns >= all.most) {
        all.isHung = 1;
        return;
    }
    const bool mayWake = asleepCount > 0 && waited + earliest <= longest;
    const bool wakes = readyCount == 0 || (mayWake && below(256) < all.wakes);
    auto chosen = wakes ? asleep[below(static_cast<std::uint32_t>(asleepCount))]
                        : ready[below(static_cast<std::uint32_t>(readyCount))];
    if (!wakes && below(256) < all.stays)
        for (int index = 0; index < readyCount; ++index)
            if (ready[index].process == all.last) chosen = ready[index];
    all.last = chosen.process;
    all.turns += 1;
    for (const Jump& one : all.jumps)
        if (one.at == all.turns) jump(one.by);
    Process& process = all.processes[chosen.process];
    Unit& unit = process.units[chosen.unit];
    if (wakes) {
        pass(earliest);
        return give(unit, go);
    }
    process.turnsTaken += 1;
    if (process.turnsTaken != process.diesAt) return give(unit, go);
    process.status = dying;
    if (all.deadCount < 64) all.dead[all.deadCount++] = {process.pid, process.number};
    give(unit, die);
}

/// Waits for a turn, and meanwhile checks whether other processes have died.
Turn waitFor(Unit& unit) {
    for (;;) {
        const auto turn = static_cast<Turn>(unit.turn.exchange(noTurn));
        if (turn != noTurn) return turn;
        const timespec time{0, 4'000'000};
        const long result =
            futex(reinterpret_cast<std::atomic<std::uint32_t>*>(&unit.turn), FUTEX_WAIT, noTurn, &time);
        if (result == 0 || errno != ETIMEDOUT) continue;
        if (&unit == &self.load()->units[0] && unit.state == sleeping) return look;
        lock();
        decide();
        unlock();
    }
}

bool isMain() {
    thread_local const bool is = syscall(SYS_gettid) == getpid();
    return is;
}

std::atomic<std::int64_t> looks = 0, stoodAt = 0, lastSteady = 0, offset = 0;

std::int64_t steadyNow() {
    timespec real;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &real);
    return nanosecondsOf(real);
}

}  // namespace

void join(const std::string& file, int number) {
    if (shared == nullptr) {
        const long fd = syscall(SYS_openat, AT_FDCWD, file.c_str(), O_RDWR | O_CLOEXEC);
        // Not by the function, which stands between.
        const long at =
            syscall(SYS_mmap, nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0L);
        syscall(SYS_close, fd);
        if (at < 0) return;
        shared = reinterpret_cast<Shared*>(at);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (const char* notes = getenv("LAYERLOOM_TURNS"); notes != nullptr)
            noteFd = static_cast<int>(
                syscall(SYS_openat, AT_FDCWD, notes, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    }
    stoodAt = lastSteady.load();
    looks = 0;
    lock();
    Process& process = shared.load()->processes[number];
    process.pid = getpid();
    process.slept = 0;
    process.units[0].state = running;
    process.units[1].state = isPoolAway ? away : running;
    process.units[0].turn = process.units[1].turn = noTurn;
    process.status = in;
    self = &process;
    unlock();
}

void leave() {
    if (self == nullptr) return;
    lock();
    Process& process = *self;
    self = nullptr;
    offset = lastSteady - steadyNow();
    for (Unit& unit : process.units)
        if (unit.state == waiting) give(unit, go);
    process.status = over;
    decide();
    unlock();
}

void before(const char* kind, const std::string& path) {
    const bool isMainThread = isMain();
    if (!isMainThread) isPoolThread = true;
    Process* const process = self;
    if (process == nullptr || path.starts_with("inputs/")) return;
    Unit& unit = process->units[isMainThread ? 0 : 1];
    lock();
    unit.state = waiting;
    unit.sleep = 0;
    decide();
    unlock();
    const Turn turn = waitFor(unit);
    if (noteFd >= 0) {
        const std::string line = std::to_string(shared.load()->turns) + '\t' +
                                 std::to_string(process - shared.load()->processes) +
                                 (isMainThread ? "" : "'") + '\t' + (turn == die ? "dies before " : "") +
                                 kind + '\t' + path + '\n';
        syscall(SYS_write, noteFd, line.data(), line.size());
    }
    if (turn == go && std::string_view(kind) == "create" && path.ends_with(".next")) {
        lock();
        shared.load()->takenOver += 1;
        unlock();
    }
    if (turn == die) {
        lock();
        isDying = true;
        unlock();
        syscall(SYS_kill, getpid(), SIGKILL);
        for (;;) pause();
    }
}

bool isPool() { return isPoolThread; }

void wroteFromPool() {
    Process* const process = self;
    if (process == nullptr) return;
    lock();
    if (process->units[0].state == sleeping) give(process->units[0], look);
    unlock();
}

std::int64_t aheadAt(std::int64_t seconds, std::uint32_t nanoseconds) {
    const Shared* const all = shared;
    if (all == nullptr || self == nullptr) return 0;
    const std::int64_t at = seconds * 1'000'000'000 + nanoseconds;
    std::int64_t ahead = 0;
    for (std::uint32_t index = 0; index < all->passedCount; ++index)
        if (at >= all->passed[index].from) ahead = all->passed[index].ahead;
    return ahead;
}

void steady(timespec* time) {
    const Process* const process = self;
    const std::int64_t now = process == nullptr ? nanosecondsOf(*time) + offset
                                                : stoodAt + process->slept + ++looks * 200;
    lastSteady = now;
    time->tv_sec = now / 1'000'000'000;
    time->tv_nsec = now % 1'000'000'000;
}

const char* standIn(const char* path) {
    static const char* const boot = getenv("LAYERLOOM_BOOT");
    if (path == nullptr) return path;
    if (boot != nullptr && std::strcmp(path, "/proc/sys/kernel/random/boot_id") == 0) return boot;
    int pid = 0, length = 0;
    if (self == nullptr || std::sscanf(path, "/proc/%d/stat%n", &pid, &length) != 1 || path[length] != '\0')
        return path;
    const Shared& all = *shared;
    for (std::uint32_t index = 0; index < all.deadCount; ++index)
        if (all.dead[index].pid == pid) {
            if (all.dead[index].number == isUsedAgain) return "/proc/self/stat";
            if (all.dead[index].number == isHidden) return "/proc/0/stat";
        }
    return path;
}

namespace {

/// The main thread waits for events and for time to pass.
template <class Poll>
int polling(int timeout, Poll poll) {
    Process* const process = self;
    if (process == nullptr || timeout == 0 || !isMain()) return poll(timeout);
    Unit& unit = process->units[0];
    unit.turn = noTurn;
    unit.sleep = timeout;
    for (;;) {
        lock();
        // It may have been chosen while it polled for events.
        if (unit.turn.exchange(noTurn) == go) {
            unlock();
            return 0;
        }
        const int found = poll(0);
        if (found != 0) {
            unit.state = running;
            unlock();
            return found;
        }
        unit.state = sleeping;
        decide();
        unlock();
        if (waitFor(unit) == go) return 0;
    }
}

template <class Function>
Function next(const char* name, const char* version = nullptr) {
    return reinterpret_cast<Function>(version == nullptr ? dlsym(RTLD_NEXT, name)
                                                         : dlvsym(RTLD_NEXT, name, version));
}

/// glibc has older versions of these functions with another layout of conditions.
template <class Function>
Function conditional(const char* name) {
    const auto found = next<Function>(name, "GLIBC_2.3.2");
    return found != nullptr ? found : next<Function>(name);
}

void willWork(const pthread_cond_t* condition) {
    if (condition != poolCondition) return;
    Process* const process = self;
    isPoolAway = false;
    if (process == nullptr) return;
    lock();
    if (process->units[1].state == away) process->units[1].state = running;
    unlock();
}

}  // namespace
}  // namespace turns

EXPORTED int epoll_pwait(int epoll, epoll_event* events, int count, int timeout, const sigset_t* mask) {
    static const auto real = turns::next<decltype(&::epoll_pwait)>("epoll_pwait");
    return turns::polling(timeout, [&](int ms) { return real(epoll, events, count, ms, mask); });
}

EXPORTED int epoll_wait(int epoll, epoll_event* events, int count, int timeout) {
    static const auto real = turns::next<decltype(&::epoll_wait)>("epoll_wait");
    return turns::polling(timeout, [&](int ms) { return real(epoll, events, count, ms); });
}

EXPORTED int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
    static const auto real = turns::conditional<decltype(&::pthread_cond_wait)>("pthread_cond_wait");
    if (!turns::isPoolThread) return real(condition, mutex);
    turns::poolCondition = condition;
    turns::isPoolAway = true;
    if (turns::Process* const process = turns::self; process != nullptr) {
        turns::lock();
        process->units[1].state = turns::away;
        turns::decide();
        turns::unlock();
    }
    const int result = real(condition, mutex);
    turns::isPoolAway = false;
    if (turns::Process* const process = turns::self; process != nullptr) {
        turns::lock();
        process->units[1].state = turns::running;
        turns::unlock();
    }
    return result;
}

EXPORTED int pthread_cond_signal(pthread_cond_t* condition) noexcept {
    static const auto real = turns::conditional<decltype(&::pthread_cond_signal)>("pthread_cond_signal");
    turns::willWork(condition);
    return real(condition);
}

EXPORTED int gethostname(char* name, size_t size) noexcept {
    static const auto real = turns::next<decltype(&::gethostname)>("gethostname");
    const char* const host = getenv("LAYERLOOM_HOST");
    if (host == nullptr) return real(name, size);
    std::snprintf(name, size, "%s", host);
    return 0;
}

EXPORTED int kill(pid_t pid, int signal) noexcept {
    static const auto real = turns::next<decltype(&::kill)>("kill");
    const turns::Shared* const all = turns::shared;
    if (signal == 0 && all != nullptr && turns::self != nullptr)
        for (std::uint32_t index = 0; index < all->deadCount; ++index)
            if (all->dead[index].pid == pid && all->dead[index].number != turns::isFree) return 0;
    return real(pid, signal);
}
