#include "rounded_rows.hpp"

#include "../io/output_file.hpp"
#include "../kernels/linear.hpp"

namespace layerloom {
RoundedRows::RoundedRows(const Kernels& kernels, const Program& program, DType dtype, const Location& to)
    : kernels_(kernels),
      beyond_(static_cast<ValueId>(program.sources.size() + program.nodes.size())),
      dtype_(dtype),
      to_(to),
      row_(static_cast<std::size_t>(program.columns)) {}

void RoundedRows::round(std::size_t first, std::size_t row) {
    const std::size_t columns = row_.size(), size = sizeOf(dtype_);
    std::byte* const to = rounded_.data() + row * columns * size;
    const Source exact{reinterpret_cast<const std::byte*>(row_.data()), DType::F64};
    if (linear(kernels_, {&exact, 1}, kOne, {to, dtype_}, columns)) return;
    for (std::size_t column = 0; column < columns && !nonFinite_; ++column) {
        const Source rounded{to + column * size, dtype_};
        double number;
        if (linear(kernels_, {&rounded, 1}, kOne, {reinterpret_cast<std::byte*>(&number), DType::F64}, 1)) continue;
        nonFinite_ = NonFiniteElement{beyond_, beyond_, (first + row) * columns + column, number};
    }
}

Status RoundedRows::put(std::size_t first, std::size_t count, Control control) {
    const std::size_t bytes = row_.size() * sizeOf(dtype_);
    control.count(0, count * bytes);
    const int error = writeAt(to_.fd, to_.begin + first * bytes, {rounded_.data(), count * bytes});
    if (error != 0) return {Outcome::WriteFailed, error};
    return {};
}

}  // namespace layerloom
