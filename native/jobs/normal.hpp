#pragma once
#include <cstdint>

namespace layerloom {

/// Returns the point of the standard normal distribution below which the share (word + ½) / 2³² of it lies:
/// between −6.4 and 6.4. Of operations that IEEE 754 rounds exactly, so that every platform has the same
/// bits.
double normalOf(std::uint32_t word);

}  // namespace layerloom
