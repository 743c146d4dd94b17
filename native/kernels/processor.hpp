#pragma once

namespace layerloom {

/// The instruction sets that an x86 processor has and the operating system saves registers for.
struct Processor {
    bool avx2;    ///< AVX2 and F16C
    bool avx512;  ///< these, and AVX-512 F, BW and VL
    bool sha;     ///< SHA-NI and SSE4.1, whose registers are always saved
};

/// Asks the processor itself (CPUID, XGETBV). Compilers' `__builtin_cpu_supports` is not used: zig's always
/// answers no, and clang before 19 does not know F16C.
Processor detectProcessor();

}  // namespace layerloom
