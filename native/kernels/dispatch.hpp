#pragma once
#include <span>
#include <string_view>

#include "kernels.hpp"
#include "sha256.hpp"

namespace layerloom {

/// Every instruction set that this build contains and this processor runs, best first; scalar is last.
std::span<const Kernels* const> availableKernels();

/// The kernels in use: the best available, or those that LAYERLOOM_ISA names (scalar, avx2, avx512, neon).
/// Chosen at the first call. Null if LAYERLOOM_ISA names unavailable ones.
const Kernels* kernels();

/// SHA-256 by processor instructions; null if the processor has no supported ones, or LAYERLOOM_ISA is
/// scalar. Chosen at the first call.
const Sha256* sha256();

}  // namespace layerloom
