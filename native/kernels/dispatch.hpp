#pragma once
#include <span>
#include <string_view>

#include "kernels.hpp"
#include "sha256.hpp"

namespace layerloom {

/// Every instruction set that this build has and this processor runs, best first. Never empty: scalar is
/// last.
std::span<const Kernels* const> availableKernels();

/// The kernels in use: the best available ones, or those that the environment variable LAYERLOOM_ISA names
/// (scalar, avx2, avx512, neon). Chosen at the first call and the same ever after. Null when LAYERLOOM_ISA
/// names none that is available.
const Kernels* kernels();

/// SHA-256 by instructions of its own; null where the processor has none that this build knows, and where
/// LAYERLOOM_ISA names scalar. The same ever after its first call.
const Sha256* sha256();

}  // namespace layerloom
