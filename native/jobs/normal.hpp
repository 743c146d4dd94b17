#pragma once
#include <cstdint>

namespace layerloom {

/// The standard normal quantile at (word + ½) / 2³², which lies between −6.4 and 6.4. Uses exactly rounded
/// operations only, so that bits are equal on every platform.
double normalOf(std::uint32_t word);

}  // namespace layerloom
