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
    /// @param inputs the node's, whole
    /// @param columns elements of a row of the output
    Dequantiser(const Kernels& kernels, const Dequantise& what, std::span<const Source> inputs,
                std::uint64_t columns);

    /// Writes elements [first, first + count) of the output.
    void fill(std::uint64_t first, std::size_t count, float* out);

  private:
    /// Elements [column, column + count) of a stored row, of all matrices' rows counted on.
    void fillRow(std::uint64_t row, std::uint64_t column, std::size_t count, float* out);
    /// Codes as numbers → values, where each column has a group of its own.
    void scaleByGroups(std::uint64_t rowOfBlocks, std::uint64_t column, std::size_t count, float* out);
    /// Codes as numbers → values, in blocks side by side.
    void scaleByBlocks(std::uint64_t rowOfBlocks, std::uint64_t column, std::size_t count, float* out);
    /// Makes scales and zero points of columns [first, first + count) of a row of blocks, of all matrices
    /// counted on: `scalesNow_` and `zerosNow_`. Those of the last call stay, since rows share them.
    void prepare(std::uint64_t rowOfBlocks, std::uint64_t first, std::size_t count);
    void findScales(std::uint64_t first, std::size_t count, float* out) const;
    void findZeros(std::uint64_t rowOfBlocks, std::uint64_t first, std::size_t count, float* out) const;
    std::uint32_t groupOf(std::uint64_t feature) const;
    void fillTransposed(std::uint64_t first, std::size_t count, float* out);
    void computeBlock(std::uint64_t outputRow);
    /// The same of codes of which two are in a byte, side by side: their bytes are transposed.
    void fillHalves(std::uint64_t first, std::size_t count, float* out);
    void computeHalves(std::uint64_t outputRow);
    void widen(const Source& source, std::uint64_t element, std::size_t count, float* out) const;

    const Kernels& kernels_;
    const Dequantise what_;
    const Source codes_, scales_;
    Source zeros_{}, groups_{}, ofNested_{};
    float factor_ = 1;
    std::vector<float> numbers_;                  ///< that the bytes of nested scales stand for
    const std::uint64_t gridRows_, gridColumns_;  ///< blocks of a matrix
    const std::uint64_t outputColumns_;
    std::vector<float> ofBlocks_, zerosOfBlocks_, strip_;
    const float *scalesNow_ = nullptr, *zerosNow_ = nullptr;
    std::uint64_t preparedRow_ = 0, preparedFirst_ = 0;
    std::size_t prepared_ = 0;
    std::unique_ptr<float[]> block_;                ///< transposed: [row of the output][column]
    std::vector<std::uint8_t> halves_;              ///< transposed: [two rows of the output][column]
    std::vector<float> ofHalves_;                   ///< scales: [blocks side by side][column of the output]
    std::uint64_t blockFirst_ = 0, blockRows_ = 0;  ///< rows of the output in it
};

}  // namespace layerloom
