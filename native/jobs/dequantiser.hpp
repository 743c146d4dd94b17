#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "../kernels/linear.hpp"
#include "program.hpp"

namespace layerloom {

/// Dequantises to float32 (Dequantise in program.hpp). Computes transposed tensors in blocks of whole output
/// rows, about kDequantisedElements, so that each cache line of codes serves many elements.
class Dequantiser {
  public:
    /// @param columns number of elements in an output row
    Dequantiser(const Kernels& kernels, const Dequantise& what, std::span<const Source> inputs,
                std::uint64_t columns);

    void fill(std::uint64_t first, std::size_t count, float* out);

  private:
    /// Computes elements [column, column + count) of a stored row. Row numbers continue from one matrix to
    /// the next.
    void fillRow(std::uint64_t row, std::uint64_t column, std::size_t count, float* out);
    /// Multiplies `out` by scales, where an input gives the group of each column.
    void scaleByGroups(std::uint64_t rowOfBlocks, std::uint64_t column, std::size_t count, float* out);
    /// Multiplies `out` by scales, where blocks are consecutive.
    void scaleByBlocks(std::uint64_t rowOfBlocks, std::uint64_t column, std::size_t count, float* out);
    /// Sets `scalesNow_` and `zerosNow_` for columns [first, first + count) of a row of blocks, whose numbers
    /// continue from one matrix to the next. Does nothing if they were set last, because rows share them.
    void prepare(std::uint64_t rowOfBlocks, std::uint64_t first, std::size_t count);
    void findScales(std::uint64_t first, std::size_t count, float* out) const;
    void findZeros(std::uint64_t rowOfBlocks, std::uint64_t first, std::size_t count, float* out) const;
    std::uint32_t groupOf(std::uint64_t feature) const;
    void fillTransposed(std::uint64_t first, std::size_t count, float* out);
    void computeBlock(std::uint64_t outputRow);
    /// Transposes bytes, for 4-bit codes with two in a byte along rows.
    void fillHalves(std::uint64_t first, std::size_t count, float* out);
    void computeHalves(std::uint64_t outputRow);
    void widen(const Source& source, std::uint64_t element, std::size_t count, float* out) const;

    const Kernels& kernels_;
    const Dequantise what_;
    const Source codes_, scales_;
    Source zeros_{}, groups_{}, ofNested_{};
    float factor_ = 1;
    std::vector<float> numbers_;                  ///< table for the bytes of nested scales
    const std::uint64_t gridRows_, gridColumns_;  ///< blocks of a matrix
    const std::uint64_t outputColumns_;
    std::vector<float> ofBlocks_, zerosOfBlocks_, strip_;
    const float *scalesNow_ = nullptr, *zerosNow_ = nullptr;
    std::uint64_t preparedRow_ = 0, preparedFirst_ = 0;
    std::size_t prepared_ = 0;
    std::unique_ptr<float[]> block_;                ///< transposed: [row of the output][column]
    std::vector<std::uint8_t> halves_;              ///< transposed: [two rows of the output][column]
    std::vector<float> ofHalves_;                   ///< scales: [consecutive blocks][column of the output]
    std::uint64_t blockFirst_ = 0, blockRows_ = 0;  ///< output rows of the block
};

}  // namespace layerloom
