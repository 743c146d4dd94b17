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

/// A job or a measurement contradicts itself, or lies beyond the memory it is given. Says which part of it
/// does.
class BadJob : public std::invalid_argument {
  public:
    using std::invalid_argument::invalid_argument;
};

/// The largest integer that a caller can give: those above are not all numbers of JavaScript. So neither a
/// sum of two nor the bytes of so many elements wrap in 64 bits.
inline constexpr std::uint64_t kMostInteger = (std::uint64_t{1} << 53) - 1;

// Asked once, before any source is mapped; what carries the work out then indexes by what it is told. Whether
// a source lies within its file is asked when it is mapped (sources.hpp): a file may change at any time. All
// throw BadJob.

void check(const Job& job);
void check(const Program& program);

/// @param out as long as the measures find numbers
void check(const Measurement& measurement, std::span<const std::span<double>> out);

/// @param out as long as what is found
void check(const Factorisation& what, std::span<const double> out);
void check(const Regression& what, std::span<const double> out);
void check(const Spectral& what);

/// @param out as long as what is found
void check(const Pursuit& what, std::span<const double> out);

/// @param states as long as the files have words
void check(std::span<const HashedRange> ranges, std::span<const std::uint32_t> states);

/// @throws BadJob naming `what` if it does not hold
void require(bool holds, const char* what);

/// Returns count · width.
///
/// @throws BadJob naming `what` where that is above kMostInteger
std::uint64_t checkedLength(std::uint64_t count, std::uint64_t width, const char* what);

/// Elements [first, first + count) of `width` bytes have offsets that are integers.
void checkElements(const Location& at, std::size_t width, std::uint64_t first, std::uint64_t count,
                   const char* what);

/// A program over whole matrices of one shape, of which `values` are some.
void checkMatrices(const Program& program, const std::vector<ValueId>& values, const char* what);

/// Each source is a mapping, and a process has some tens of thousands of these for all of its threads.
inline constexpr std::size_t kMostSources = 4096;

}  // namespace layerloom
