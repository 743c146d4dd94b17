// Turns of several processes over one directory. Each process waits before a call for its turn, which a
// random generator gives, so that a seed is a schedule. They share a file in memory; the last process to wait decides
// which continues.
//
// Two threads of a process matter: the main thread and libuv's pool thread (UV_THREADPOOL_SIZE=1). The process is quiet
// when each waits for its turn, for work, or for time to pass. Time passes only when a sleeper is chosen, which has
// then slept.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <ctime>
#include <string>

namespace turns {

/// Maps the file of turns, and takes part as process `number` until `leave`.
void join(const std::string& file, int number);
void leave();

/// Waits for the turn to make a call. Ends the process if it is to die there.
void before(const char* kind, const std::string& path);

/// Call after the pool's thread writes to the descriptor that wakes the main thread.
void wroteFromPool();
bool isPool();

/// Seconds that the file system's clock is ahead at a moment of the system clock.
std::int64_t aheadAt(std::int64_t seconds, std::uint32_t nanoseconds);

/// The steady clock: only sleeps advance it, and each reading by a little.
void steady(timespec* time);

/// Replacement for a path of /proc: another host's boot, or a process whose number is used again.
const char* standIn(const char* path);

}  // namespace turns
