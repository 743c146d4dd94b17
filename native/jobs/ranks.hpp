#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace layerloom {

/// Ranks the elements of rows by magnitude, in O(n).
class Ranks {
  public:
    /// Calls visit(element, rank) for each element of a row, in any order: rank 0 has the smallest magnitude,
    /// and of equal ones the first element.
    template <class Visit>
    void forEach(std::span<const float> x, const Visit& visit) {
        if (count(x)) {
            std::uint32_t* next = next_.data();
            const std::uint32_t* digits = digits_.data();
            for (std::size_t i = 0; i < x.size(); ++i) visit(i, std::size_t{next[digits[i]]++});
            return;
        }
        sort(x);
        for (std::size_t rank = 0; rank < x.size(); ++rank) visit(from_[rank] & 0xFFFF'FFFFu, rank);
    }

  private:
    /// Counts a row whose magnitudes a small table can tell apart, as it can most differences of 16-bit
    /// numbers: into `digits_` goes which one each element has, into `next_` the rank of the first with it.
    /// False for others.
    bool count(std::span<const float> x);
    /// Sorts a row by radix: into `from_` go magnitude and index (the lower 32 bits), smallest first.
    void sort(std::span<const float> x);

    std::vector<std::uint32_t> digits_, next_;
    std::vector<std::uint64_t> from_, to_;
};

}  // namespace layerloom
