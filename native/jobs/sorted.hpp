#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace layerloom {

/// Sorts rows: by radix, from the lowest digit on, in O(n).
class Sorted {
  public:
    /// Magnitude and index (the lower 32 bits) of each element, smallest first, equal ones by index; until
    /// the next row.
    std::span<const std::uint64_t> magnitudes(std::span<const float> x);

  private:
    std::vector<std::uint64_t> from_, to_;
};

}  // namespace layerloom
