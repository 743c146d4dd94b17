// Turns of several processes over one directory: each waits before a call until it is its turn, which a
// generator of numbers gives, so that a seed is a schedule. Processes share a file in memory; whoever is the
// last to wait decides who goes on.
//
// The process has two threads that matter: the main one, and the one of libuv's pool (UV_THREADPOOL_SIZE=1).
// It is quiet when each of them waits for its turn, for work, or for time to pass. Time passes only by
// decision: a sleeper that is chosen has slept.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <ctime>
#include <string>

namespace turns {

/// Maps the file of turns, and takes part as the process of a number until `leave`.
void join(const std::string& file, int number);
void leave();

/// Waits until a call may be made. Ends the process where it is to die there.
void before(const char* kind, const std::string& path);

/// Behind a write of the pool's thread to the descriptor by which it wakes the main one.
void wroteFromPool();
bool isPool();

/// Seconds by which the file system's clock is ahead at a moment of the system's.
std::int64_t aheadAt(std::int64_t seconds, std::uint32_t nanoseconds);

/// The steady clock: it stands still but for sleeps, and a little with each look at it.
void steady(timespec* time);

/// What a path of /proc stands for: the boot of another host, a process whose number is used again.
const char* standIn(const char* path);

}  // namespace turns
