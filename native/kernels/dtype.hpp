#pragma once
#include <cstddef>
#include <cstdint>

namespace layerloom {

/// Dtypes in which kernels compute; all others are only copied.
enum class DType : std::uint8_t { BF16, F16, F32, F64, F8_E4M3, F8_E5M2 };

inline constexpr std::size_t kDTypes = 6;

constexpr std::size_t sizeOf(DType dtype) {
    constexpr std::size_t sizes[kDTypes] = {2, 2, 4, 8, 1, 1};
    return sizes[static_cast<std::size_t>(dtype)];
}

}  // namespace layerloom
