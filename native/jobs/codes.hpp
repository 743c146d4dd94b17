#pragma once
#include <cstdint>
#include <span>

#include "../kernels/linear.hpp"
#include "program.hpp"

namespace layerloom {

/// Writes the numbers that codes [column, column + count) of a row stand for, of all matrices' rows counted
/// on. All of them are numbers of float32.
void decode(const Kernels& kernels, const Codes& codes, const std::byte* data, std::uint64_t row,
            std::uint64_t column, std::size_t count, float* out);

/// The bytes that they are read from.
std::span<const std::byte> bytesOf(const Codes& codes, const std::byte* data, std::uint64_t row,
                                   std::uint64_t column, std::size_t count);

}  // namespace layerloom
