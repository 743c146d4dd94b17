#pragma once
// Reads by io_uring, through the kernel's own interface: what the benchmark of strategies needs, and no more.
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>

/// A queue of reads for one thread. `lastError` is set where the kernel gives none.
class Ring {
  public:
    explicit Ring(unsigned entries) {
        io_uring_params what{};
        fd_ = static_cast<int>(syscall(__NR_io_uring_setup, entries, &what));
        if (fd_ < 0) {
            fail();
            return;
        }
        const std::size_t submitted = what.sq_off.array + what.sq_entries * sizeof(std::uint32_t);
        const std::size_t completed = what.cq_off.cqes + what.cq_entries * sizeof(io_uring_cqe);
        std::byte* const to = map(submitted, IORING_OFF_SQ_RING);
        std::byte* const from = map(completed, IORING_OFF_CQ_RING);
        entries_ = reinterpret_cast<io_uring_sqe*>(map(what.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES));
        if (lastError != 0) return;
        const auto word = [](std::byte* base, std::uint32_t at) {
            return reinterpret_cast<std::uint32_t*>(base + at);
        };
        tail_ = word(to, what.sq_off.tail);
        array_ = word(to, what.sq_off.array);
        mask_ = *word(to, what.sq_off.ring_mask);
        doneHead_ = word(from, what.cq_off.head);
        doneTail_ = word(from, what.cq_off.tail);
        doneMask_ = *word(from, what.cq_off.ring_mask);
        done_ = reinterpret_cast<io_uring_cqe*>(from + what.cq_off.cqes);
    }
    /// The mappings live as long as the process.
    ~Ring() {
        if (fd_ >= 0) close(fd_);
    }
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;

    /// Adds a read, which `submit` begins. No more than the entries may be under way.
    void read(int file, void* to, std::size_t length, std::size_t offset, std::uint64_t tag) {
        const std::uint32_t tail = *tail_, index = tail & mask_;
        io_uring_sqe& entry = entries_[index] = {};
        entry.opcode = IORING_OP_READ;
        entry.fd = file;
        entry.addr = reinterpret_cast<std::uint64_t>(to);
        entry.len = static_cast<std::uint32_t>(length);
        entry.off = offset;
        entry.user_data = tag;
        array_[index] = index;
        std::atomic_ref<std::uint32_t>(*tail_).store(tail + 1, std::memory_order_release);
        ++added_;
    }

    /// Begins what was added, and waits until one read is done if `wait`. Returns false on an error.
    bool submit(bool wait) {
        const long begun = syscall(__NR_io_uring_enter, fd_, added_, wait ? 1u : 0u,
                                   wait ? IORING_ENTER_GETEVENTS : 0u, nullptr, 0);
        if (begun < 0) return errno == EINTR;
        added_ -= static_cast<unsigned>(begun);
        return true;
    }

    /// Calls done(tag, bytes or negative error) for each read that is done.
    template <class Done>
    void reap(const Done& done) {
        std::uint32_t head = *doneHead_;
        const std::uint32_t tail = std::atomic_ref<std::uint32_t>(*doneTail_).load(std::memory_order_acquire);
        for (; head != tail; ++head) done(done_[head & doneMask_].user_data, done_[head & doneMask_].res);
        std::atomic_ref<std::uint32_t>(*doneHead_).store(head, std::memory_order_release);
    }

    int lastError = 0;

  private:
    std::byte* map(std::size_t length, std::uint64_t offset) {
        void* const at = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd_,
                              static_cast<off_t>(offset));
        if (at == MAP_FAILED) fail();
        return static_cast<std::byte*>(at);
    }
    void fail() { lastError = errno; }

    int fd_ = -1;
    unsigned added_ = 0;
    io_uring_sqe* entries_ = nullptr;
    io_uring_cqe* done_ = nullptr;
    std::uint32_t *tail_ = nullptr, *array_ = nullptr, *doneHead_ = nullptr, *doneTail_ = nullptr;
    std::uint32_t mask_ = 0, doneMask_ = 0;
};
