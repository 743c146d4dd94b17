#pragma once
#include <cstdint>

namespace layerloom {

/// Returns the quantile of the standard normal distribution at (word + ½) / 2³²: between −6.4 and 6.4. Uses
/// only operations that IEEE 754 rounds exactly, so that bits are equal on every platform.
double normalOf(std::uint32_t word);

}  // namespace layerloom
