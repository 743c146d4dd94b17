#pragma once
#include <cstdint>

namespace layerloom {

/// Returns the standard normal quantile at (word + ½) / 2³², between −6.4 and 6.4. Uses only exactly rounded
/// operations, so that bits are equal on every platform.
double normalOf(std::uint32_t word);

}  // namespace layerloom
