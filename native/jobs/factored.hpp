#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "program.hpp"

namespace layerloom {

/// Rows of `Factored` (program.hpp), in float64. Keeps a row of each factor.
class FactoredRows {
  public:
    FactoredRows(const Factored& factored, std::uint64_t columns);

    /// Writes elements [first, first + count).
    void fill(std::uint64_t first, std::size_t count, float* out);

  private:
    const double* row(std::size_t factor, std::uint64_t index);

    struct Kept {
        std::uint64_t index = ~std::uint64_t{0};
        std::vector<double> numbers;
    };

    const Factored& factored_;
    const std::uint64_t columns_;
    std::vector<Kept> kept_;  ///< for each factor
};

/// Applies `Turned` (program.hpp) to whole rows, in float64.
class TurnedRows {
  public:
    TurnedRows(const Turned& turned, std::size_t columns);

    void fill(const float* rows, std::size_t count, float* out);

  private:
    void turnBlocks();
    void reflect();

    const Turned& turned_;
    const std::size_t columns_;
    std::vector<double> row_, turnedRow_;
};

}  // namespace layerloom
