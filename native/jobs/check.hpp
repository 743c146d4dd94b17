#pragma once
#include <stdexcept>

#include "hash.hpp"
#include "job.hpp"
#include "measure.hpp"

namespace layerloom {

/// Thrown for a job that contradicts itself or exceeds its memory. The message names the wrong part.
class BadJob : public std::invalid_argument {
  public:
    using std::invalid_argument::invalid_argument;
};

/// The largest exact integer of JavaScript. The sum of two such integers, and the bytes of so many elements,
/// do not overflow 64 bits.
inline constexpr std::uint64_t kMostInteger = (std::uint64_t{1} << 53) - 1;

// Checks before any source is mapped; later code indexes without checks. Only mapping checks that a source is
// within its file (sources.hpp), because files may change at any time. All throw BadJob.

void check(const Job& job);
void check(const Program& program);

void check(const Measurement& measurement, std::span<const std::span<double>> out);

void check(std::span<const HashedRange> ranges, std::span<const std::uint32_t> states);

/// @throws BadJob naming `what` if `holds` is false
void require(bool holds, const char* what);

/// Returns count·width.
///
/// @throws BadJob naming `what` above kMostInteger
std::uint64_t checkedLength(std::uint64_t count, std::uint64_t width, const char* what);

/// Checks that elements [first, first + count) of `width` bytes have valid offsets.
void checkElements(const Location& at, std::size_t width, std::uint64_t first, std::uint64_t count,
                   const char* what);

/// Checks that the program is over whole matrices and has these values.
void checkMatrices(const Program& program, const std::vector<ValueId>& values, const char* what);

/// Maximum number of sources. Each is a mapping, and a process can have some tens of thousands.
inline constexpr std::size_t kMostSources = 4096;

}  // namespace layerloom
