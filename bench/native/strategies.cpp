// How to read inputs and write outputs: one program for each way, measured on full-size files before one was
// chosen (bench/RESULTS.md). It shares the kernels with the addon and nothing else.
//
//   strategies IN OUT STRATEGY [threads=N] [files=N] [slice=MiB] [tile=KiB] [depth=N] [sync] [cold] [direct] [direct-out]
//
// IN    a directory with the files `a` and `b`, of equal size
// OUT   a directory for the output files
// STRATEGY = WORK-READ-WRITE
//   WORK   copy | average
//   READ   map (a window for each slice) | populate (a window, MADV_POPULATE_READ) | willneed (a window,
//          MADV_WILLNEED) | sequential (a window, MADV_SEQUENTIAL) | pread (into tiles) | uring (into tiles, by io_uring) |
//          kernel (copy_file_range; copy only)
//   WRITE  pwrite | mapped (a window of the output, MADV_POPULATE_WRITE) | nowhere (discarded)
// files   output files that the input is divided into (1: all threads write one file)
// prepare=none|truncate|allocate   nothing, ftruncate or fallocate before writing
// behind=MiB   start write-back (sync_file_range) whenever so much of a file was written
// ahead=MiB    ask for so much of the input beyond the current slice (POSIX_FADV_WILLNEED)
// depth=N     with uring: tiles of each input that a thread has under way
// direct      read past the page cache (O_DIRECT); with pread or uring
// direct-out  write past it; with pwrite
// sync    fsync every file before the clock stops
// cold    drop the inputs from the page cache first
// Prints one line: strategy, settings, seconds, GB/s of output.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "kernels/dispatch.hpp"
#include "kernels/linear.hpp"
#include "ring.hpp"

using namespace layerloom;

namespace {

std::map<std::string, std::string> settings;

std::size_t setting(const char* name, std::size_t otherwise) {
    const auto found = settings.find(name);
    return found == settings.end() ? otherwise : std::strtoull(found->second.c_str(), nullptr, 10);
}

[[noreturn]] void fail(const std::string& what) {
    std::perror(what.c_str());
    std::exit(1);
}

int openOrFail(const std::string& path, int flags) {
    const int fd = open(path.c_str(), flags, 0644);
    if (fd < 0) fail(path);
    return fd;
}

constexpr std::size_t kMiB = 1 << 20;

struct Mapping {
    std::byte* base;
    std::size_t length;
    Mapping(int fd, std::size_t offset, std::size_t size, int protection, int advice) : length(size) {
        base = static_cast<std::byte*>(
            mmap(nullptr, size, protection, MAP_SHARED, fd, static_cast<off_t>(offset)));
        if (base == MAP_FAILED) fail("mmap");
        if (advice != 0) (void)madvise(base, size, advice);
    }
    ~Mapping() { munmap(base, length); }
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
};

/// Memory of a tile, as O_DIRECT wants it.
struct Tile {
    std::byte* data;
    explicit Tile(std::size_t bytes) : data(static_cast<std::byte*>(std::aligned_alloc(4096, bytes))) {
        if (data == nullptr) fail("aligned_alloc");
    }
    ~Tile() { std::free(data); }
    Tile(const Tile&) = delete;
    Tile& operator=(const Tile&) = delete;
};

struct Output {
    int fd;
    std::size_t begin, end;  // of the input
    std::atomic<std::size_t> next, written, flushed;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4)
        return std::fprintf(stderr,
                            "usage: strategies IN OUT WORK-READ-WRITE [name=value]... [sync] [cold]\n"),
               2;
    const std::string in = argv[1], out = argv[2], strategy = argv[3];
    for (int i = 4; i < argc; ++i) {
        const std::string argument = argv[i];
        const auto equals = argument.find('=');
        settings[argument.substr(0, equals)] =
            equals == std::string::npos ? "1" : argument.substr(equals + 1);
    }
    const auto has = [&](const char* part) { return strategy.find(part) != std::string::npos; };
    const bool average = has("average");
    const std::size_t threads = setting("threads", 2), slice = setting("slice", 8) * kMiB;
    const std::size_t tile = setting("tile", 256) * 1024, fileCount = setting("files", threads);
    const std::size_t behind = setting("behind", 0) * kMiB, ahead = setting("ahead", 0) * kMiB;
    const std::string prepare = settings.contains("prepare") ? settings["prepare"] : "truncate";

    const int reading = O_RDONLY | (settings.contains("direct") ? O_DIRECT : 0);
    const int writing = O_RDWR | O_CREAT | O_TRUNC | (settings.contains("direct-out") ? O_DIRECT : 0);
    const std::array<int, 2> inputs = {openOrFail(in + "/a", reading), openOrFail(in + "/b", reading)};
    struct stat info;
    if (fstat(inputs[0], &info) != 0) fail("stat");
    const auto total = static_cast<std::size_t>(info.st_size);
    if (settings.contains("cold"))
        for (const int fd : inputs) (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);

    const std::size_t share = (total / fileCount + slice - 1) / slice * slice;
    std::vector<Output> outputs(fileCount);
    for (std::size_t f = 0; f < fileCount; ++f) unlink((out + "/out-" + std::to_string(f)).c_str());

    const auto started = std::chrono::steady_clock::now();
    for (std::size_t f = 0; f < fileCount; ++f) {
        Output& output = outputs[f];
        output.fd = openOrFail(out + "/out-" + std::to_string(f), writing);
        output.begin = std::min(total, f * share);
        output.end = std::min(total, (f + 1) * share);
        output.next = output.begin;
        const auto size = static_cast<off_t>(output.end - output.begin);
        if (prepare == "truncate" && ftruncate(output.fd, size) != 0) fail("ftruncate");
        if (prepare == "allocate" && size > 0 && posix_fallocate(output.fd, 0, size) != 0) fail("fallocate");
    }

    const auto beginWriteBack = [&](Output& output, std::size_t length) {
        const std::size_t written = output.written.fetch_add(length) + length;
        if (behind == 0 || written - output.flushed < behind) return;
        const std::size_t from = output.flushed.exchange(written);
        (void)sync_file_range(output.fd, static_cast<off64_t>(from), static_cast<off64_t>(written - from),
                              SYNC_FILE_RANGE_WRITE);
    };
    const auto averageOf = [](const std::byte* a, const std::byte* b, std::byte* to, std::size_t length) {
        const Source sources[] = {{a, DType::BF16}, {b, DType::BF16}};
        const double weights[] = {0.5, 0.5};
        linear(*kernels(), sources, weights, {to, DType::BF16}, length / 2);
    };
    const auto writeTile = [](const Output& output, const std::byte* from, std::size_t length, std::size_t to) {
        if (pwrite(output.fd, from, length, static_cast<off_t>(to)) != static_cast<ssize_t>(length)) fail("pwrite");
    };

    /// Reads tiles by a queue, some ahead of the one that is worked on.
    const auto workQueued = [&](std::size_t thread) {
        struct Slot {
            Tile a, b;
            Output* output = nullptr;
            std::size_t begin = 0, length = 0, waiting = 0;
            explicit Slot(std::size_t bytes) : a(bytes), b(bytes) {}
        };
        const std::size_t depth = setting("depth", 8), reads = average ? 2 : 1;
        std::deque<Slot> slots;
        for (std::size_t s = 0; s < depth; ++s)
            slots.emplace_back(tile);
        Ring ring(static_cast<unsigned>(reads * depth));
        if (ring.lastError != 0) fail("io_uring_setup");
        Tile out(tile);
        std::size_t turn = 0, at = 0, end = 0;
        Output* output = nullptr;
        const auto takeSlice = [&] {
            for (; turn < fileCount; ++turn) {
                output = &outputs[(thread + turn) % fileCount];
                at = output->next.fetch_add(slice);
                end = std::min(at + slice, output->end);
                if (at < end) return true;
            }
            return false;
        };
        std::size_t begun = 0, ended = 0;
        for (;;) {
            for (; begun - ended < depth && (at < end || takeSlice()); ++begun) {
                Slot& slot = slots[begun % depth];
                slot.output = output;
                slot.begin = at;
                slot.length = std::min(tile, end - at);
                slot.waiting = reads;
                ring.read(inputs[0], slot.a.data, slot.length, at, begun % depth);
                if (average) ring.read(inputs[1], slot.b.data, slot.length, at, begun % depth);
                at += slot.length;
            }
            if (begun == ended) return;
            Slot& slot = slots[ended % depth];
            do {
                if (!ring.submit(slot.waiting > 0)) fail("io_uring_enter");
                ring.reap([&](std::uint64_t tag, std::int32_t result) {
                    if (result != static_cast<std::int32_t>(slots[tag].length)) {
                        errno = result < 0 ? -result : EIO;
                        fail("io_uring read");
                    }
                    slots[tag].waiting -= 1;
                });
            } while (slot.waiting > 0);
            if (average) averageOf(slot.a.data, slot.b.data, out.data, slot.length);
            if (has("-pwrite"))
                writeTile(*slot.output, average ? out.data : slot.a.data, slot.length,
                          slot.begin - slot.output->begin);
            beginWriteBack(*slot.output, slot.length);
            ++ended;
        }
    };

    const auto work = [&](std::size_t thread) {
        if (has("-uring")) return workQueued(thread);
        const Tile bufferA(tile), bufferB(tile), bufferOut(tile);
        for (std::size_t turn = 0; turn < fileCount; ++turn) {
            Output& output = outputs[(thread + turn) % fileCount];
            for (;;) {
                const std::size_t begin = output.next.fetch_add(slice);
                if (begin >= output.end) break;
                const std::size_t length = std::min(slice, output.end - begin), to = begin - output.begin;
                if (ahead > 0)
                    for (const int fd : inputs)
                        if (average || fd == inputs[0])
                            (void)posix_fadvise(fd, static_cast<off_t>(begin + length),
                                                static_cast<off_t>(ahead), POSIX_FADV_WILLNEED);
                if (has("-kernel")) {
                    auto from = static_cast<off64_t>(begin);
                    auto at = static_cast<off64_t>(to);
                    for (std::size_t left = length; left > 0;) {
                        const ssize_t n = copy_file_range(inputs[0], &from, output.fd, &at, left, 0);
                        if (n <= 0) fail("copy_file_range");
                        left -= static_cast<std::size_t>(n);
                    }
                } else {
                    const bool reads = has("-pread");
                    const int advice = has("-populate")     ? MADV_POPULATE_READ
                                       : has("-willneed")   ? MADV_WILLNEED
                                       : has("-sequential") ? MADV_SEQUENTIAL
                                                            : 0;
                    std::deque<Mapping> windows;
                    if (!reads)
                        for (std::size_t s = 0; s < (average ? 2u : 1u); ++s)
                            windows.emplace_back(inputs[s], begin, length, PROT_READ, advice);
                    const bool maps = has("-mapped");
                    if (maps)
                        windows.emplace_back(output.fd, to, length, PROT_READ | PROT_WRITE,
                                             MADV_POPULATE_WRITE);
                    for (std::size_t at = 0; at < length; at += tile) {
                        const std::size_t n = std::min(tile, length - at);
                        const auto source = [&](std::size_t s,
                                                const Tile& buffer) -> const std::byte* {
                            if (!reads) return windows[s].base + at;
                            if (pread(inputs[s], buffer.data, n, static_cast<off_t>(begin + at)) !=
                                static_cast<ssize_t>(n))
                                fail("pread");
                            return buffer.data;
                        };
                        const std::byte* a = source(0, bufferA);
                        std::byte* sink = maps ? windows.back().base + at : bufferOut.data;
                        const std::byte* result = sink;
                        if (average) {
                            averageOf(a, source(1, bufferB), sink, n);
                        } else if (maps) {
                            std::memcpy(sink, a, n);
                        } else {
                            result = a;
                        }
                        if (has("-pwrite")) writeTile(output, result, n, to + at);
                    }
                }
                beginWriteBack(output, length);
            }
        }
    };
    std::vector<std::thread> pool;
    for (std::size_t t = 0; t < threads; ++t) pool.emplace_back(work, t);
    for (std::thread& thread : pool) thread.join();
    if (settings.contains("sync"))
        for (Output& output : outputs)
            if (fsync(output.fd) != 0) fail("fsync");
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();

    std::string given;
    for (int i = 4; i < argc; ++i) given += std::string(" ") + argv[i];
    std::printf("%-26s%-60s %7.3f s %7.2f GB/s\n", strategy.c_str(), given.c_str(), seconds,
                static_cast<double>(total) / 1e9 / seconds);
}
