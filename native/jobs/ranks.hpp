#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "../kernels/kernels.hpp"

namespace layerloom {

/// Ranks the elements of rows by magnitude, in O(n).
class Ranks {
  public:
    explicit Ranks(const Kernels& kernels) : kernels_(kernels) {}

    /// Calls visit(element, rank) for each element, in any order. The smallest magnitude has rank 0. Ties go
    /// by index.
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
    /// Ranks by counting and returns true, if a small table holds the row's magnitudes, as for most
    /// differences of 16-bit numbers. Sets `digits_` to the elements' magnitudes, and `next_` to the first
    /// rank of each magnitude.
    bool count(std::span<const float> x);
    /// Ranks by radix sort. `from_` gets magnitudes, with the index in the lower 32 bits, smallest first.
    void sort(std::span<const float> x);

    const Kernels& kernels_;
    std::vector<std::uint32_t> digits_, next_;
    std::vector<std::uint64_t> from_, to_;
};

}  // namespace layerloom
