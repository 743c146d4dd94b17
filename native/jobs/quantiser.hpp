#pragma once
#include <cstdint>
#include <vector>

#include "../kernels/linear.hpp"
#include "program.hpp"

namespace layerloom {

/// Quantises tiles of whole rows of blocks (Quantise in program.hpp).
class Quantiser {
  public:
    /// @param columns elements of a row
    Quantiser(const Kernels& kernels, const Quantise& what, std::uint64_t columns);

    /// Writes the values, or the codes, of so many rows, which begin with a row of blocks.
    void fill(const float* x, std::size_t rows, std::byte* out);

    /// The scales of the last tile, as a model stores them: [row of blocks][column of blocks].
    const std::vector<float>& scales() const { return scales_; }

  private:
    /// Makes the scales of a row of blocks of its largest magnitudes.
    void findScales();
    /// Quantises `count` elements of one block.
    void quantise(const float* x, std::size_t block, std::size_t count, std::byte* out);

    const Kernels& kernels_;
    const Quantise what_;
    const std::size_t columns_, across_;
    float factor_ = 1;                     ///< Nvfp4: of all scales
    std::vector<std::int32_t> magnitudes_; ///< the largest of each block, as bits of float32
    std::vector<float> by_, back_;         ///< for each block: what values are scaled by, and codes are scaled by
    std::vector<float> scales_;
};

}  // namespace layerloom
