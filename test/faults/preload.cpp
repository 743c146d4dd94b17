// The library of the fault simulator (README.md). Preloaded, it intercepts calls on files, sockets, processes, threads
// and the clock. It fails, shortens or delays the calls that a list of faults names, kills the process at such a call,
// and logs changes of the disk. Calls on paths outside the root pass through.
//
// A process controls it by opening paths below `control`, or by a file of the same lines named in
// LAYERLOOM_FAULTS. A fault is a line `fault KIND PATH OCCURRENCE ACTION`. A call is identified by its kind,
// its path below the root without random parts, and how many calls of both came before: this does not depend
// on the order of threads.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "turns.hpp"

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace {

constexpr std::string_view control = "/:faults:/";

/// Returns libc's function behind this library's.
template <class Function>
Function next(const char* name) {
    return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}
#define REAL(name) static const auto real = next<decltype(&::name)>(#name)

enum class Does { fail, cutShort, delay, kill, killAfter, freeze };

struct Fault {
    std::string kind;
    std::string path;
    /// The first and the last affected call, counted from 1.
    std::uint64_t first, last;
    Does does;
    /// An errno, or milliseconds.
    int number;
};

std::atomic<bool> isActive = false;
std::mutex mutex;
std::string root;
std::vector<Fault> faults;
std::unordered_map<std::string, std::uint64_t> counts;
std::string traced, fired;
bool isTracing = false, isFrozen = false;
int logFd = -1, traceFd = -1, firedFd = -1;
std::atomic<long> clockShift = 0, age = 0;
/// Threads count after the first call below the root: earlier ones are Node's own and must not fail.
std::atomic<bool> hasBegun = false;

bool isHex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

/// Length of the run of characters from `at` that `accepts` takes.
template <class Accepts>
std::size_t run(std::string_view text, std::size_t at, Accepts accepts) {
    std::size_t end = at;
    while (end < text.size() && accepts(text[end])) ++end;
    return end - at;
}

bool isUuid(std::string_view text, std::size_t at) {
    for (const std::size_t part : {8, 4, 4, 4, 12}) {
        if (run(text, at, isHex) < part) return false;
        at += part;
        if (part != 12 && (at >= text.size() || text[at++] != '-')) return false;
    }
    return true;
}

/// Replaces the varying parts of a name by #: UUIDs, hashes of 8 digits after a dash, process numbers, and
/// the suffix of `mkdtemp`.
std::string withoutRandom(std::string_view path) {
    std::string named;
    for (std::size_t at = 0; at < path.size();) {
        if (isUuid(path, at)) {
            named += '#';
            at += 36;
            continue;
        }
        named += path[at++];
        const auto isEnd = [&](std::size_t end) {
            return end == path.size() || path[end] == '/' || path[end] == '.' || path[end] == '-';
        };
        const char last = named.back();
        if ((last != '-' && last != '.') || isUuid(path, at)) continue;
        const std::size_t digits = run(path, at, [](char c) { return c >= '0' && c <= '9'; });
        const std::size_t hex = run(path, at, isHex);
        const bool isTemporary = path.substr(at + hex).starts_with(".incomplete");
        const bool isPid =
            digits > 0 && isEnd(at + digits) && (named.ends_with("-batch-") || (last == '.' && digits > 2));
        if ((hex == 8 && isEnd(at + hex)) || hex == 32 || (hex > 0 && isTemporary)) {
            named += '#';
            at += hex;
        } else if (isPid) {
            named += '#';
            at += digits;
        } else if (named.ends_with("layerloom-")) {
            const std::size_t letters =
                run(path, at, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; });
            if (letters == 6 && isEnd(at + letters)) {
                named += '#';
                at += letters;
            }
        }
    }
    return named;
}

/// The path below the root; `isBelow` is false if it is outside.
struct Below {
    bool isBelow = false;
    std::string path;
};

Below below(std::string_view path) {
    if (path.size() < root.size() || !path.starts_with(root)) return {};
    if (path.size() == root.size()) return {true, "."};
    if (path[root.size()] != '/') return {};
    return {true, std::string(path.substr(root.size() + 1))};
}

std::string absolute(const char* path) {
    if (path == nullptr) return {};
    if (path[0] == '/') return path;
    char folder[4096];
    if (syscall(SYS_getcwd, folder, sizeof folder) < 0) return path;
    return std::string(folder) + "/" + path;
}

Below below(const char* path) {
    if (!isActive || path == nullptr) return {};
    return below(std::string_view(absolute(path)));
}

/// Caches the paths of descriptors, read once from /proc, until names change.
constexpr int known = 256;
std::mutex knownMutex;
std::uint64_t namesChanged = 1;
struct {
    std::uint64_t asked = 0;
    Below below;
} knownPaths[known];

/// Forgets a descriptor that may refer to another file; all with -1.
void forget(int fd) {
    const std::lock_guard lock(knownMutex);
    if (fd < 0)
        ++namesChanged;
    else if (fd < known)
        knownPaths[fd].asked = 0;
}

Below asked(int fd);

Below below(int fd) {
    if (!isActive || fd < 0) return {};
    if (fd >= known) return asked(fd);
    // Never blocks: the holder may be interrupted by a signal handler that reads a pipe, as libuv's does.
    const std::unique_lock lock(knownMutex, std::try_to_lock);
    if (!lock) return asked(fd);
    auto& path = knownPaths[fd];
    if (path.asked != namesChanged) path = {namesChanged, asked(fd)};
    return path.below;
}

Below asked(int fd) {
    char link[64], path[4096];
    std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const long length = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path);
    if (length <= 0 || path[0] != '/') return {};
    std::string_view found(path, static_cast<std::size_t>(length));
    constexpr std::string_view deleted = " (deleted)";
    if (found.ends_with(deleted)) found.remove_suffix(deleted.size());
    return below(found);
}

/// Ports of this process's servers, whose sockets are left alone.
std::vector<std::uint16_t> servers;

/// True for a network socket, except those of this process's own servers.
bool isNetwork(int fd) {
    if (!isActive) return false;
    struct stat found;
    sockaddr_storage address;
    socklen_t length = sizeof address;
    if (fstat(fd, &found) != 0 || !S_ISSOCK(found.st_mode)) return false;
    if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) return false;
    if (address.ss_family != AF_INET && address.ss_family != AF_INET6) return false;
    // AF_INET and AF_INET6 have the port at the same offset.
    const std::uint16_t port = ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
    return std::find(servers.begin(), servers.end(), port) == servers.end();
}

void endProcess() {
    syscall(SYS_kill, getpid(), SIGKILL);
    for (;;) pause();
}

/// Adds a line of the trace, and writes it at once if it has a file: the process may be killed.
void note(std::string& lines, int fd, const char* kind, const std::string& path, const std::string& rest) {
    const std::string line = std::string(kind) + '\t' + path + '\t' + rest + '\n';
    lines += line;
    if (fd >= 0) syscall(SYS_write, fd, line.data(), line.size());
}

/// The decision on a call.
struct Fate {
    int error = 0;
    bool isShort = false, isLast = false;
};

/// Counts a call. If a fault matches, waits, ends the process or returns how the call fails. @param changes true for a
/// call that changes the disk or that other processes see: a frozen process makes no such call
Fate decide(const char* kind, const std::string& path, bool changes) {
    turns::before(kind, path);
    Fate fate;
    int delay = 0;
    {
        const std::lock_guard lock(mutex);
        hasBegun = true;
        const std::string named = withoutRandom(path);
        const auto count = [&](const std::string& key) { return ++counts[key]; };
        const std::uint64_t of = count(std::string(kind) + ' ' + named);
        const std::uint64_t ofKind = count(std::string(kind) + " *"), ofAll = count("* *");
        if (isTracing) note(traced, traceFd, kind, named, std::to_string(of));
        if (isFrozen && changes) return {EIO, false, false};
        for (const Fault& fault : faults) {
            if (fault.kind != "*" && fault.kind != kind) continue;
            if (fault.path != "*" && fault.path != named) continue;
            const std::uint64_t occurrence = fault.path != "*" ? of : fault.kind != "*" ? ofKind : ofAll;
            if (occurrence < fault.first || occurrence > fault.last) continue;
            if (fired.size() < 65536)
                note(fired, firedFd, kind, path,
                     std::to_string(static_cast<int>(fault.does)) + '\t' + std::to_string(fault.number));
            switch (fault.does) {
                case Does::fail:
                    fate.error = fault.number;
                    break;
                case Does::cutShort:
                    fate.isShort = true;
                    break;
                case Does::delay:
                    delay = fault.number;
                    break;
                case Does::kill:
                    endProcess();
                    break;
                case Does::killAfter:
                    fate.isLast = true;
                    break;
                case Does::freeze:
                    isFrozen = true;
                    if (changes) fate.error = EIO;
                    break;
            }
        }
    }
    if (delay > 0) {
        const timespec time{delay / 1000, (delay % 1000) * 1000000L};
        syscall(SYS_nanosleep, &time, nullptr);
    }
    return fate;
}

int refuse(int error) {
    errno = error;
    return -1;
}

/// After a call: ends the process if the fault is a kill after it.
template <class Result>
Result made(const Fate& fate, Result result) {
    if (fate.isLast) endProcess();
    return result;
}

// The log: a line of fields separated by tabs; the last field is the number of bytes that follow.

std::uint64_t inodeOf(int fd) {
    struct stat found;
    return fstat(fd, &found) == 0 ? found.st_ino : 0;
}

std::uint64_t inodeOf(const char* path) {
    struct stat found;
    return lstat(path, &found) == 0 ? found.st_ino : 0;
}

bool isLogging() { return logFd >= 0; }

/// Logs under the lock, so that records have the order of calls that do not overlap.
void logged(const std::string& what, const void* bytes = nullptr, std::size_t length = 0) {
    timespec now;
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
    const std::lock_guard lock(mutex);
    char time[64];
    std::snprintf(time, sizeof time, "%ld.%06ld", static_cast<long>(now.tv_sec), now.tv_nsec / 1000);
    std::string text = what + '\t' + time + '\t' + std::to_string(length) + '\n';
    text.append(static_cast<const char*>(bytes), length);
    for (std::size_t done = 0; done < text.size();) {
        const long n = syscall(SYS_write, logFd, text.data() + done, text.size() - done);
        if (n <= 0) return;
        done += static_cast<std::size_t>(n);
    }
}

std::string fields(std::initializer_list<std::string> of) {
    std::string text;
    for (const auto& one : of) text += (text.empty() ? "" : "\t") + one;
    return text;
}

/// Logs the bytes that a call wrote; reads them back if the call had no buffer.
void logWritten(int fd, off_t offset, const void* bytes, std::size_t length) {
    const int error = errno;
    const std::string what = fields({"write", std::to_string(inodeOf(fd)), std::to_string(offset)});
    if (bytes != nullptr)
        logged(what, bytes, length);
    else {
        std::vector<char> back(length);
        char link[64];
        std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        const long copy = syscall(SYS_openat, AT_FDCWD, link, O_RDONLY | O_CLOEXEC);
        syscall(SYS_pread64, copy, back.data(), length, offset);
        syscall(SYS_close, copy);
        logged(what, back.data(), length);
    }
    errno = error;
}

int numberOf(std::string_view text) { return std::atoi(std::string(text).c_str()); }

void dump(const std::string& path, const std::string& text) {
    const long fd = syscall(SYS_openat, AT_FDCWD, path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    syscall(SYS_write, fd, text.data(), text.size());
    syscall(SYS_close, fd);
}

void carryOut(std::string_view line) {
    std::vector<std::string> words;
    for (std::size_t at = 0; at <= line.size();) {
        const std::size_t end = std::min(line.find('\t', at), line.size());
        words.emplace_back(line.substr(at, end - at));
        at = end + 1;
    }
    const std::lock_guard lock(mutex);
    const auto& what = words[0];
    const auto word = [&](std::size_t index) { return index < words.size() ? words[index] : std::string(); };
    if (what == "root") {
        root = word(1);
    } else if (what == "begin") {
        counts.clear();
        faults.clear();
        traced.clear();
        fired.clear();
        isTracing = isFrozen = false;
        clockShift = age = 0;
    } else if (what == "fault") {
        static constexpr std::pair<std::string_view, Does> actions[] = {
            {"fail", Does::fail}, {"short", Does::cutShort},       {"delay", Does::delay},
            {"kill", Does::kill}, {"kill-after", Does::killAfter}, {"freeze", Does::freeze}};
        const std::string occurrence = word(3);
        const auto first = static_cast<std::uint64_t>(numberOf(occurrence));
        const auto* found = std::find_if(std::begin(actions), std::end(actions),
                                         [&](const auto& one) { return one.first == word(4); });
        if (found != std::end(actions))
            faults.push_back({word(1), word(2), first, occurrence.ends_with('+') ? UINT64_MAX : first,
                              found->second, numberOf(word(5))});
    } else if (what == "server") {
        servers.push_back(static_cast<std::uint16_t>(numberOf(word(1))));
    } else if (what == "clock") {
        clockShift = numberOf(word(1));
    } else if (what == "age") {
        age = numberOf(word(1));
    } else if (what == "trace") {
        isTracing = true;
    } else if (what == "log" || what == "trace-file" || what == "fired-file") {
        (what == "log"          ? logFd
         : what == "trace-file" ? traceFd
                                : firedFd) =
            static_cast<int>(syscall(SYS_openat, AT_FDCWD, word(1).c_str(),
                                     O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    } else if (what == "unlog") {
        if (logFd >= 0) syscall(SYS_close, logFd);
        logFd = -1;
    } else if (what == "join") {
        turns::join(word(1), numberOf(word(2)));
    } else if (what == "leave") {
        turns::leave();
    } else if (what == "on") {
        isActive = true;
    } else if (what == "off") {
        isActive = false;
    } else if (what == "dump") {
        dump(word(1), traced);
    } else if (what == "fired") {
        dump(word(1), fired);
    }
}

/// True for a control path, after carrying out its line.
bool isControl(const char* path) {
    if (path == nullptr || !std::string_view(path).starts_with(control)) return false;
    const std::string_view line = std::string_view(path).substr(control.size());
    if (line.starts_with("mark\t")) {
        if (isLogging()) logged(std::string(line));
    } else
        carryOut(line);
    return true;
}

void readFaults() {
    const char* path = getenv("LAYERLOOM_FAULTS");
    if (path == nullptr) return;
    std::string text;
    const long fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    char bytes[4096];
    for (long n; (n = syscall(SYS_read, fd, bytes, sizeof bytes)) > 0;)
        text.append(bytes, static_cast<std::size_t>(n));
    syscall(SYS_close, fd);
    // Child programs run without faults.
    unsetenv("LAYERLOOM_FAULTS");
    unsetenv("LD_PRELOAD");
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        carryOut(std::string_view(text).substr(at, end - at));
        at = end + 1;
    }
}

/// Initialised after all other objects of this file, since it fills them.
const struct Beginning {
    Beginning() { readFaults(); }
} beginning;

// Calls on paths.

template <class Open>
int opening(Open real, const char* path, int flags, mode_t mode) {
    if (isControl(path)) return refuse(ENOENT);
    const Below at = below(path);
    if (!at.isBelow) return real(turns::standIn(path), flags, mode);
    const bool creates = (flags & O_CREAT) != 0;
    const Fate fate = decide(creates ? "create" : "open", at.path, creates || (flags & O_TRUNC) != 0);
    if (fate.error != 0) return refuse(fate.error);
    const bool isNew = creates && isLogging() && inodeOf(path) == 0;
    const int fd = real(path, flags, mode);
    forget(std::max(fd, 0));
    if (fd >= 0 && isLogging() && isNew) logged(fields({"create", std::to_string(inodeOf(fd)), at.path}));
    if (fd >= 0 && isLogging() && !isNew && (flags & O_TRUNC) != 0)
        logged(fields({"truncate", std::to_string(inodeOf(fd)), "0"}));
    return made(fate, fd);
}

/// A call on one path, and its log entry.
template <class Call>
int onPath(const char* kind, const char* path, bool changes, const char* log, Call call) {
    const Below at = below(path);
    if (!at.isBelow) return call();
    const Fate fate = decide(kind, at.path, changes);
    if (fate.error != 0) return refuse(fate.error);
    const int result = call();
    if (result == 0 && log != nullptr && isLogging())
        logged(fields({log, std::to_string(inodeOf(path)), at.path}));
    return made(fate, result);
}

/// A call on two paths: faults apply to the second, where a name appears.
template <class Call>
int onPaths(const char* kind, const char* from, const char* to, const char* log, Call call) {
    const Below at = below(to);
    if (!at.isBelow) return call();
    const Fate fate = decide(kind, at.path, true);
    if (fate.error != 0) return refuse(fate.error);
    const int result = call();
    forget(-1);
    if (result == 0 && isLogging()) {
        const Below of = below(from);
        // A symbolic link stores the text as given.
        const bool isPath = of.isBelow && std::string_view(log) != "symlink";
        logged(fields({log, std::to_string(inodeOf(to)), isPath ? of.path : from, at.path}));
    }
    return made(fate, result);
}

}  // namespace

EXPORTED int open(const char* path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const auto mode = static_cast<mode_t>(va_arg(rest, int));
    va_end(rest);
    REAL(open);
    return opening(real, path, flags, mode);
}

EXPORTED int open64(const char* path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const auto mode = static_cast<mode_t>(va_arg(rest, int));
    va_end(rest);
    REAL(open64);
    return opening(real, path, flags, mode);
}

EXPORTED int mkdir(const char* path, mode_t mode) {
    REAL(mkdir);
    return onPath("mkdir", path, true, "mkdir", [&] { return real(path, mode); });
}

EXPORTED int rmdir(const char* path) {
    REAL(rmdir);
    return onPath("rmdir", path, true, "rmdir", [&] { return real(path); });
}

EXPORTED int unlink(const char* path) {
    REAL(unlink);
    return onPath("unlink", path, true, "unlink", [&] { return real(path); });
}

EXPORTED int rename(const char* from, const char* to) {
    REAL(rename);
    return onPaths("rename", from, to, "rename", [&] { return real(from, to); });
}

EXPORTED int renameat2(int fromFolder, const char* from, int toFolder, const char* to,
                       unsigned flags) noexcept {
    REAL(renameat2);
    return onPaths("exchange", from, to, "exchange",
                   [&] { return real(fromFolder, from, toFolder, to, flags); });
}

EXPORTED int link(const char* from, const char* to) noexcept {
    REAL(link);
    return onPaths("link", from, to, "link", [&] { return real(from, to); });
}

EXPORTED int symlink(const char* from, const char* to) noexcept {
    REAL(symlink);
    return onPaths("symlink", from, to, "symlink", [&] { return real(from, to); });
}

EXPORTED int chmod(const char* path, mode_t mode) noexcept {
    REAL(chmod);
    return onPath("chmod", path, true, nullptr, [&] { return real(path, mode); });
}

EXPORTED int access(const char* path, int mode) noexcept {
    REAL(access);
    return onPath("stat", path, false, nullptr, [&] { return real(path, mode); });
}

EXPORTED int utimensat(int folder, const char* path, const timespec times[2], int flags) noexcept {
    REAL(utimensat);
    return onPath("chmod", path, true, nullptr, [&] { return real(folder, path, times, flags); });
}

EXPORTED ssize_t readlink(const char* path, char* to, size_t size) noexcept {
    REAL(readlink);
    const Below at = below(path);
    if (at.isBelow) {
        const Fate fate = decide("stat", at.path, false);
        if (fate.error != 0) return refuse(fate.error);
    }
    return real(path, to, size);
}

EXPORTED int scandir64(const char* path, dirent64*** names, int (*filter)(const dirent64*),
                       int (*compare)(const dirent64**, const dirent64**)) {
    REAL(scandir64);
    const Below at = below(path);
    if (at.isBelow) {
        const Fate fate = decide("list", at.path, false);
        if (fate.error != 0) return refuse(fate.error);
    }
    return real(path, names, filter, compare);
}

EXPORTED DIR* opendir(const char* path) {
    REAL(opendir);
    const Below at = below(path);
    if (at.isBelow) {
        const Fate fate = decide("list", at.path, false);
        if (fate.error != 0) {
            errno = fate.error;
            return nullptr;
        }
    }
    return real(path);
}

EXPORTED int statfs64(const char* path, struct statfs64* found) noexcept {
    static const auto real = next<int (*)(const char*, struct statfs64*)>("statfs64");
    return onPath("stat", path, false, nullptr, [&] { return real(path, found); });
}

// Calls on descriptors.

EXPORTED int close(int fd) {
    REAL(close);
    if (fd >= 0) forget(fd);
    return real(fd);
}

namespace {

/// A call that reads or writes bytes; a fault may shorten it.
template <class Whole, class Part>
ssize_t moving(bool writes, int fd, Whole whole, Part part) {
    const Below at = below(fd);
    const bool isNet = !at.isBelow && isNetwork(fd);
    if (!at.isBelow && !isNet) return whole();
    // A process that died sends nothing more.
    const Fate fate = decide(isNet ? (writes ? "send" : "receive") : (writes ? "write" : "read"),
                             isNet ? "net" : at.path, writes);
    if (fate.error != 0) return refuse(fate.error);
    return made(fate, fate.isShort ? part() : whole());
}

/// Half of a length, but at least one byte unless the length is 0.
std::size_t half(std::size_t length) { return length < 2 ? length : length / 2; }

ssize_t wrote(int fd, off_t offset, const void* bytes, ssize_t n) {
    if (n <= 0 || !isLogging() || !below(fd).isBelow) return n;
    logWritten(fd, offset >= 0 ? offset : lseek(fd, 0, SEEK_CUR) - n, bytes, static_cast<std::size_t>(n));
    return n;
}

iovec firstOf(const iovec* parts, int count) {
    for (int index = 0; index < count; ++index)
        if (parts[index].iov_len > 0) return {parts[index].iov_base, half(parts[index].iov_len)};
    return {nullptr, 0};
}

}  // namespace

EXPORTED ssize_t read(int fd, void* to, size_t length) {
    REAL(read);
    return moving(
        false, fd, [&] { return real(fd, to, length); }, [&] { return real(fd, to, half(length)); });
}

EXPORTED ssize_t pread64(int fd, void* to, size_t length, off64_t offset) {
    REAL(pread64);
    return moving(
        false, fd, [&] { return real(fd, to, length, offset); },
        [&] { return real(fd, to, half(length), offset); });
}

EXPORTED ssize_t readv(int fd, const iovec* parts, int count) {
    REAL(readv);
    return moving(
        false, fd, [&] { return real(fd, parts, count); },
        [&] {
            const iovec part = firstOf(parts, count);
            return real(fd, &part, 1);
        });
}

EXPORTED ssize_t preadv64(int fd, const iovec* parts, int count, off64_t offset) {
    REAL(preadv64);
    return moving(
        false, fd, [&] { return real(fd, parts, count, offset); },
        [&] {
            const iovec part = firstOf(parts, count);
            return real(fd, &part, 1, offset);
        });
}

EXPORTED ssize_t write(int fd, const void* from, size_t length) {
    REAL(write);
    if (turns::isPool() && length == sizeof(std::uint64_t) && !below(fd).isBelow) {
        const ssize_t n = real(fd, from, length);
        turns::wroteFromPool();
        return n;
    }
    const auto writing = [&](size_t n) { return wrote(fd, -1, from, real(fd, from, n)); };
    return moving(
        true, fd, [&] { return writing(length); }, [&] { return writing(half(length)); });
}

EXPORTED ssize_t pwrite(int fd, const void* from, size_t length, off_t offset) {
    REAL(pwrite);
    const auto writing = [&](size_t n) { return wrote(fd, offset, from, real(fd, from, n, offset)); };
    return moving(
        true, fd, [&] { return writing(length); }, [&] { return writing(half(length)); });
}

EXPORTED ssize_t pwrite64(int fd, const void* from, size_t length, off64_t offset) {
    REAL(pwrite64);
    const auto writing = [&](size_t n) { return wrote(fd, offset, from, real(fd, from, n, offset)); };
    return moving(
        true, fd, [&] { return writing(length); }, [&] { return writing(half(length)); });
}

EXPORTED ssize_t writev(int fd, const iovec* parts, int count) {
    REAL(writev);
    return moving(
        true, fd, [&] { return wrote(fd, -1, nullptr, real(fd, parts, count)); },
        [&] {
            const iovec part = firstOf(parts, count);
            return wrote(fd, -1, nullptr, real(fd, &part, 1));
        });
}

EXPORTED ssize_t pwritev64(int fd, const iovec* parts, int count, off64_t offset) {
    REAL(pwritev64);
    return moving(
        true, fd, [&] { return wrote(fd, offset, nullptr, real(fd, parts, count, offset)); },
        [&] {
            const iovec part = firstOf(parts, count);
            return wrote(fd, offset, nullptr, real(fd, &part, 1, offset));
        });
}

namespace {

/// A call on a descriptor, and its log entry.
template <class Call>
int onFd(const char* kind, int fd, const std::string& log, Call call) {
    const Below at = below(fd);
    if (!at.isBelow) return call();
    const Fate fate = decide(kind, at.path, true);
    if (fate.error != 0) return refuse(fate.error);
    const int result = call();
    if (result == 0 && !log.empty() && isLogging()) logged(log);
    return made(fate, result);
}

std::string syncLog(int fd) {
    return isLogging() ? fields({"sync", std::to_string(inodeOf(fd)), below(fd).path}) : std::string();
}

}  // namespace

EXPORTED int fsync(int fd) {
    REAL(fsync);
    return onFd("sync", fd, syncLog(fd), [&] { return real(fd); });
}

EXPORTED int fdatasync(int fd) {
    REAL(fdatasync);
    return onFd("sync", fd, syncLog(fd), [&] { return real(fd); });
}

EXPORTED int ftruncate64(int fd, off64_t length) noexcept {
    REAL(ftruncate64);
    const std::string log = isLogging()
                                ? fields({"truncate", std::to_string(inodeOf(fd)), std::to_string(length)})
                                : std::string();
    return onFd("truncate", fd, log, [&] { return real(fd, length); });
}

EXPORTED int fchmod(int fd, mode_t mode) noexcept {
    REAL(fchmod);
    return onFd("chmod", fd, {}, [&] { return real(fd, mode); });
}

EXPORTED int flock(int fd, int operation) noexcept {
    REAL(flock);
    return onFd("lock", fd, {}, [&] { return real(fd, operation); });
}

EXPORTED int ioctl(int fd, unsigned long request, ...) noexcept {
    va_list rest;
    va_start(rest, request);
    void* const argument = va_arg(rest, void*);
    va_end(rest);
    static const auto real = next<int (*)(int, unsigned long, void*)>("ioctl");
    return onFd("clone", fd, {}, [&] { return real(fd, request, argument); });
}

namespace {

/// A copy inside the kernel: the log reads back what it wrote.
template <class Call>
ssize_t copying(int to, size_t length, off64_t* offset, Call call) {
    const Below at = below(to);
    if (!at.isBelow) return call(length);
    const Fate fate = decide("copy", at.path, true);
    if (fate.error != 0) return refuse(fate.error);
    const off_t from = offset != nullptr ? *offset : lseek(to, 0, SEEK_CUR);
    const ssize_t n = call(fate.isShort ? half(length) : length);
    if (n > 0 && isLogging()) logWritten(to, from, nullptr, static_cast<std::size_t>(n));
    return made(fate, n);
}

}  // namespace

EXPORTED ssize_t copy_file_range(int from, off64_t* fromOffset, int to, off64_t* toOffset, size_t length,
                                 unsigned flags) {
    REAL(copy_file_range);
    return copying(to, length, toOffset,
                   [&](size_t n) { return real(from, fromOffset, to, toOffset, n, flags); });
}

EXPORTED ssize_t sendfile64(int to, int from, off64_t* offset, size_t length) noexcept {
    REAL(sendfile64);
    return copying(to, length, nullptr, [&](size_t n) { return real(to, from, offset, n); });
}

namespace {

template <class Call>
void* mapping(int fd, Call call) {
    const Below at = below(fd);
    if (!at.isBelow) return call();
    const Fate fate = decide("map", at.path, false);
    if (fate.error == 0) return made(fate, call());
    errno = fate.error;
    return MAP_FAILED;
}

}  // namespace

EXPORTED void* mmap(void* at, size_t length, int protection, int flags, int fd, off_t offset) noexcept {
    REAL(mmap);
    return mapping(fd, [&] { return real(at, length, protection, flags, fd, offset); });
}

EXPORTED void* mmap64(void* at, size_t length, int protection, int flags, int fd, off64_t offset) noexcept {
    REAL(mmap64);
    return mapping(fd, [&] { return real(at, length, protection, flags, fd, offset); });
}

namespace {

/// Makes claims and partial files look older if time is to have passed since their processes died. Replaces
/// inodes of inputs by numbers from their names: shards are identified by these inodes, and a seed names
/// shards.
void renumber(const std::string& path, struct statx* found) {
    const bool isClaim =
        path.find("/claims/") != std::string::npos || path.find(".claim") != std::string::npos;
    const bool isResult =
        path.find("/evaluations/.") != std::string::npos && path.find(".json.") != std::string::npos;
    const bool isPartial = path.ends_with(".partial") || path.ends_with(".incomplete") ||
                           path.find("/layerloom-store.json.") != std::string::npos ||
                           path.find("/partial/") != std::string::npos;
    // The clock decides how old they are.
    if ((isClaim || isPartial || isResult) && !path.ends_with("/clock")) {
        found->stx_mtime.tv_sec -= age;
        found->stx_ctime.tv_sec -= age;
    }
    if (!path.starts_with("inputs/")) {
        for (auto* time : {&found->stx_mtime, &found->stx_ctime})
            time->tv_sec += turns::aheadAt(time->tv_sec, time->tv_nsec);
        return;
    }
    std::uint64_t hash = 14695981039346656037u;
    for (const char c : path) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
    found->stx_ino = hash >> 16;
}

}  // namespace

// libuv calls statx, copy_file_range and close through this.
EXPORTED long syscall(long number, ...) noexcept {
    va_list rest;
    va_start(rest, number);
    long a[6];
    for (long& one : a) one = va_arg(rest, long);
    va_end(rest);
    static const auto real = next<long (*)(long, ...)>("syscall");
    const auto call = [&] { return real(number, a[0], a[1], a[2], a[3], a[4], a[5]); };
    if (number == SYS_close) forget(static_cast<int>(std::max(a[0], 0L)));
    if (!isActive) return call();
    if (number == SYS_statx) {
        const auto* path = reinterpret_cast<const char*>(a[1]);
        const Below at = path != nullptr && path[0] != '\0' ? below(path) : below(static_cast<int>(a[0]));
        if (!at.isBelow) return call();
        const Fate fate = decide("stat", at.path, false);
        if (fate.error != 0) return refuse(fate.error);
        const long result = call();
        if (result == 0) renumber(at.path, reinterpret_cast<struct statx*>(a[4]));
        return result;
    }
    if (number == SYS_copy_file_range) {
        const auto to = static_cast<int>(a[2]);
        return copying(to, static_cast<size_t>(a[4]), reinterpret_cast<off64_t*>(a[3]), [&](size_t n) {
            a[4] = static_cast<long>(n);
            return static_cast<ssize_t>(call());
        });
    }
    return call();
}

// The network, processes, threads, and the clock.

EXPORTED int connect(int fd, const sockaddr* address, socklen_t length) {
    REAL(connect);
    if (!isActive || (address->sa_family != AF_INET && address->sa_family != AF_INET6))
        return real(fd, address, length);
    const Fate fate = decide("connect", "net", false);
    return fate.error != 0 ? refuse(fate.error) : real(fd, address, length);
}

EXPORTED int getaddrinfo(const char* node, const char* service, const addrinfo* hints, addrinfo** found) {
    REAL(getaddrinfo);
    if (!isActive) return real(node, service, hints, found);
    const Fate fate = decide("lookup", "net", false);
    return fate.error != 0 ? EAI_AGAIN : real(node, service, hints, found);
}

EXPORTED pid_t fork() noexcept {
    REAL(fork);
    if (!isActive) return real();
    const Fate fate = decide("spawn", "-", false);
    return fate.error != 0 ? refuse(fate.error) : real();
}

EXPORTED int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                            void* argument) noexcept {
    REAL(pthread_create);
    if (!isActive || !hasBegun) return real(thread, attributes, start, argument);
    const Fate fate = decide("thread", "-", false);
    return fate.error != 0 ? fate.error : real(thread, attributes, start, argument);
}

EXPORTED int gettimeofday(timeval* time, void* zone) noexcept {
    static const auto real = next<int (*)(timeval*, void*)>("gettimeofday");
    const int result = real(time, zone);
    time->tv_sec += clockShift;
    return result;
}

EXPORTED int clock_gettime(clockid_t clock, timespec* time) noexcept {
    REAL(clock_gettime);
    const int result = real(clock, time);
    if (clock == CLOCK_REALTIME) time->tv_sec += clockShift;
    if (clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_COARSE) turns::steady(time);
    return result;
}
