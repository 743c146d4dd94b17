#pragma once
#include <span>
#include <string_view>

#include "kernels.hpp"
#include "sha256.hpp"

namespace layerloom {

/// The instruction sets of this build and this processor, best first; scalar is last.
std::span<const Kernels* const> availableKernels();

/// The best kernels, or those that LAYERLOOM_ISA names (scalar, avx2, avx512, neon); null if unavailable.
/// Chosen at the first call.
const Kernels* kernels();

/// Null if the processor has no known SHA instructions, or LAYERLOOM_ISA is scalar. Chosen at the first call.
const Sha256* sha256();

}  // namespace layerloom
