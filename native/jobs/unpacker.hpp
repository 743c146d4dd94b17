#pragma once
#include <cstdint>
#include <vector>

#include "../kernels/linear.hpp"
#include "program.hpp"

namespace layerloom {

/// Makes float32 of a tensor in blocks of GGUF (Unpack in program.hpp): each step rounded, in the order of
/// the format's reference (gguf.quants.dequantize).
class Unpacker {
  public:
    /// @param bytes the node's input, whole
    Unpacker(const Kernels& kernels, const Unpack& what, const std::byte* bytes);

    /// Writes elements [first, first + count) of the output.
    void fill(std::uint64_t first, std::size_t count, float* out);

  private:
    /// Elements [column, column + count) of a stored row.
    void fillRow(const std::byte* row, std::uint64_t column, std::size_t count, float* out);

    const Kernels& kernels_;
    const Unpack what_;
    const std::byte* const bytes_;
    std::vector<float> block_;  ///< one whose ends a slice does not need
};

}  // namespace layerloom
