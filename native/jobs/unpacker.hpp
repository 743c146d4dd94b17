#pragma once
#include <cstdint>
#include <vector>

#include "../kernels/linear.hpp"
#include "program.hpp"

namespace layerloom {

/// Unpacks GGUF's blocks to float32 (Unpack in program.hpp). Rounds after each step, in the order of
/// gguf.quants.dequantize.
class Unpacker {
  public:
    Unpacker(const Kernels& kernels, const Unpack& what, const std::byte* bytes);

    void fill(std::uint64_t first, std::size_t count, float* out);

  private:
    /// Unpacks elements [column, column + count) of a stored row.
    void fillRow(const std::byte* row, std::uint64_t column, std::size_t count, float* out);

    const Kernels& kernels_;
    const Unpack what_;
    const std::byte* const bytes_;
    std::vector<float> block_;  ///< a block that is needed only in part
};

}  // namespace layerloom
