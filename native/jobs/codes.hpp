#pragma once
#include <cstdint>
#include <span>

#include "../kernels/linear.hpp"
#include "program.hpp"

namespace layerloom {

/// Decodes codes [column, column + count) of a row. Row numbers continue from one matrix to the next. float32
/// holds the values exactly.
void decode(const Kernels& kernels, const Codes& codes, const std::byte* data, std::uint64_t row,
            std::uint64_t column, std::size_t count, float* out);

std::span<const std::byte> bytesOf(const Codes& codes, const std::byte* data, std::uint64_t row,
                                   std::uint64_t column, std::size_t count);

}  // namespace layerloom
