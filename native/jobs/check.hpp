#pragma once
#include <stdexcept>

#include "job.hpp"
#include "measure.hpp"
#include "reduction.hpp"

namespace layerloom {

/// What is asked for contradicts itself, or lies beyond the memory it is given. Says which part of it does.
class BadJob : public std::invalid_argument {
  public:
    using std::invalid_argument::invalid_argument;
};

/// The largest integer that a caller can give: those above are not all numbers of JavaScript. So neither a
/// sum of two nor the bytes of so many elements wrap in 64 bits.
inline constexpr std::uint64_t kMostInteger = (std::uint64_t{1} << 53) - 1;

/// Returns count · width.
///
/// @throws BadJob where that is above kMostInteger, naming `what`
std::uint64_t checkedLength(std::uint64_t count, std::uint64_t width, const char* what);

// Asked once, before any source is mapped; what carries the work out then indexes by what it is told. Whether
// a source lies within its file is asked when it is mapped (sources.hpp): a file may change at any time. All
// throw BadJob.

void check(const Job& job);

/// `sums`: of the lengths that the reduction fills.
void check(const Reduction& reduction, const Sums& sums);

/// `numbers` and `counts`: how many the measure is given room for.
void check(const Measure& what, std::size_t numbers, std::size_t counts);

}  // namespace layerloom
