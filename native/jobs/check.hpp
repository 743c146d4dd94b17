#pragma once
#include <stdexcept>

#include "factorise.hpp"
#include "hash.hpp"
#include "job.hpp"
#include "measure.hpp"
#include "pursue.hpp"
#include "regress.hpp"
#include "spectral.hpp"

namespace layerloom {

/// A job or measurement contradicts itself or exceeds its memory. The message names the faulty part.
class BadJob : public std::invalid_argument {
  public:
    using std::invalid_argument::invalid_argument;
};

/// The largest integer of a caller, up to which JavaScript's numbers are exact. Sums of two, and bytes of so
/// many elements, do not overflow 64 bits.
inline constexpr std::uint64_t kMostInteger = (std::uint64_t{1} << 53) - 1;

// Called once, before any source is mapped; later code indexes without checks. Whether a source is within its
// file is checked when it is mapped (sources.hpp), since a file may change at any time. All throw BadJob.

void check(const Job& job);
void check(const Program& program);

/// @param out as long as the measures' results
void check(const Measurement& measurement, std::span<const std::span<double>> out);

/// @param out as long as the results
void check(const Factorisation& what, std::span<const double> out);
void check(const Regression& what, std::span<const double> out);
void check(const Spectral& what);

/// @param out as long as the results
void check(const Pursuit& what, std::span<const double> out);

/// @param states as long as the states of all files
void check(std::span<const HashedRange> ranges, std::span<const std::uint32_t> states);

/// @throws BadJob naming `what` if it does not hold
void require(bool holds, const char* what);

/// Returns count · width.
///
/// @throws BadJob naming `what` if that is above kMostInteger
std::uint64_t checkedLength(std::uint64_t count, std::uint64_t width, const char* what);

/// Checks that the offsets of elements [first, first + count) of `width` bytes are valid integers.
void checkElements(const Location& at, std::size_t width, std::uint64_t first, std::uint64_t count,
                   const char* what);

/// Checks a program over whole matrices of one shape; `values` are among its values.
void checkMatrices(const Program& program, const std::vector<ValueId>& values, const char* what);

/// Each source is a mapping, and a process can have some tens of thousands of mappings.
inline constexpr std::size_t kMostSources = 4096;

}  // namespace layerloom
