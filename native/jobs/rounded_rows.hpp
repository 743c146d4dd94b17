#pragma once
#include <cstddef>
#include <optional>
#include <vector>

#include "program.hpp"
#include "status.hpp"

namespace layerloom {

/// Writes rows of a float64 matrix, rounding each element once.
class RoundedRows {
  public:
    /// @param program gives the number of columns
    RoundedRows(const Kernels& kernels, const Program& program, DType dtype, const Location& to);

    /// Writes rows [first, first + count), which fill(row, numbers) computes; `row` counts from 0.
    template <class Fill>
    Status write(std::size_t first, std::size_t count, Control control, const Fill& fill) {
        rounded_.resize(count * row_.size() * sizeOf(dtype_));
        for (std::size_t row = 0; row < count; ++row) {
            fill(row, row_.data());
            round(first, row);
        }
        return put(first, count, control);
    }

    /// Returns the first NaN or infinity, as a value after the program's own.
    const std::optional<NonFiniteElement>& nonFinite() const { return nonFinite_; }

  private:
    void round(std::size_t first, std::size_t row);
    Status put(std::size_t first, std::size_t count, Control control);

    const Kernels& kernels_;
    ValueId beyond_;
    DType dtype_;
    Location to_;
    std::vector<double> row_;
    std::vector<std::byte> rounded_;
    std::optional<NonFiniteElement> nonFinite_;
};

}  // namespace layerloom
