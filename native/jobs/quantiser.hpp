#pragma once
#include <cstdint>
#include <vector>

#include "../kernels/linear.hpp"
#include "program.hpp"

namespace layerloom {

/// Quantises tiles of whole rows of blocks (Quantise in program.hpp).
class Quantiser {
  public:
    Quantiser(const Kernels& kernels, const Quantise& what, std::uint64_t columns);

    /// Quantises rows from the start of a row of blocks.
    void fill(const float* x, std::size_t rows, std::byte* out);

    /// Returns the last tile's scales as models store them: [row of blocks][column of blocks].
    const std::vector<float>& scales() const { return scales_; }

  private:
    void findScales();
    void quantise(const float* x, std::size_t block, std::size_t count, std::byte* out);

    const Kernels& kernels_;
    const Quantise what_;
    const std::size_t columns_, across_;
    float factor_ = 1;                     ///< Nvfp4: factor of all scales
    std::vector<std::int32_t> magnitudes_; ///< largest magnitude of each block, as float32 bits
    std::vector<float> by_, back_;         ///< for each block: scale of values, scale of codes
    std::vector<float> scales_;
};

}  // namespace layerloom
