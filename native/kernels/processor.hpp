#pragma once

namespace layerloom {

/// Instruction sets whose registers the operating system saves.
struct Processor {
    bool avx2;    ///< AVX2, FMA and F16C
    bool avx512;  ///< AVX2, and AVX-512 F, BW, DQ and VL
    bool sha;     ///< SHA-NI and SSE4.1, whose registers are always saved
};

/// Asks the processor (CPUID, XGETBV): zig's `__builtin_cpu_supports` always returns false, and clang before
/// 19 does not know F16C.
Processor detectProcessor();

}  // namespace layerloom
