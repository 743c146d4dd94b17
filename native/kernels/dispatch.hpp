#pragma once
#include <span>
#include <string_view>

#include "kernels.hpp"
#include "sha256.hpp"

namespace layerloom {

/// Returns the instruction sets of this build that the processor has, best first and scalar last.
std::span<const Kernels* const> availableKernels();

/// Returns the best kernels, or those that LAYERLOOM_ISA names (scalar, avx2, avx512, neon); null if they are
/// unavailable. Chosen at the first call.
const Kernels* kernels();

/// Returns null if the processor has no known SHA instructions, or LAYERLOOM_ISA is scalar. Chosen at the
/// first call.
const Sha256* sha256();

}  // namespace layerloom
