#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "../kernels/linear.hpp"
#include "program.hpp"

namespace layerloom {

/// Makes float32 of a quantised tensor's elements (Dequantise in program.hpp). A tensor that is stored
/// transposed is made in blocks of whole rows of the output, so that each line of the cache that codes are
/// read from serves many of its elements; private memory is then one block of about kDequantisedElements.
class Dequantiser {
  public:
    /// @param inputs the node's, whole: codes, scales, and a factor where it has one
    /// @param columns elements of a row of the output
    Dequantiser(const Kernels& kernels, const Dequantise& what, std::span<const Source> inputs,
                std::uint64_t columns);

    /// Writes elements [first, first + count) of the output.
    void fill(std::uint64_t first, std::size_t count, float* out);

  private:
    /// Elements [column, column + count) of a stored row, of all matrices' rows counted on.
    void fillRow(std::uint64_t row, std::uint64_t column, std::size_t count, float* out);
    /// Codes as numbers, `count` of them from element `first` of the codes on; they fill whole bytes at its
    /// row's start.
    void decode(std::uint64_t first, std::size_t count, float* out);
    /// Float32 of the scales of blocks [first, first + count), with the factor.
    const float* scalesOf(std::uint64_t first, std::size_t count);
    void fillTransposed(std::uint64_t first, std::size_t count, float* out);
    void computeBlock(std::uint64_t outputRow);
    void widen(const Source& source, std::size_t element, std::size_t count, float* out) const;

    const Kernels& kernels_;
    const Dequantise what_;
    const Source codes_, scales_;
    float factor_ = 1;
    const std::uint64_t gridRows_, gridColumns_;  ///< blocks of a matrix
    const std::uint64_t outputColumns_;
    std::vector<std::byte> expanded_;  ///< codes of four bits, and integers, as elements of a dtype
    std::vector<float> ofBlocks_, line_;
    std::unique_ptr<float[]> block_;                ///< transposed: [row of the output][column]
    std::uint64_t blockFirst_ = 0, blockRows_ = 0;  ///< rows of the output in it
};

}  // namespace layerloom
