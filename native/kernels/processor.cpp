#include "processor.hpp"

#include <cpuid.h>

#include <cstdint>

namespace layerloom {
namespace {

struct Registers {
    unsigned a, b, c, d;
};

/// Returns zeros if the processor has no such leaf.
Registers cpuid(unsigned leaf) {
    Registers found = {0, 0, 0, 0};
    __get_cpuid_count(leaf, 0, &found.a, &found.b, &found.c, &found.d);
    return found;
}

/// Reads XCR0: which registers the operating system saves. Faults without OSXSAVE. Avoids the intrinsic
/// `_xgetbv`, which would need a compiler option.
std::uint64_t savedRegisters() {
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (static_cast<std::uint64_t>(high) << 32) | low;
}

constexpr bool has(std::uint64_t bits, std::uint64_t all) { return (bits & all) == all; }

// Bits from Intel's manual, volume 1, 13.3 (XCR0), and volume 2A, CPUID.
constexpr std::uint64_t kXmmYmm = 0b110;
/// Mask registers, upper halves of ZMM0-15, and ZMM16-31.
constexpr std::uint64_t kZmm = 0b1110'0000;
constexpr unsigned kFma = 1u << 12, kSse41 = 1u << 19, kOsxsave = 1u << 27, kAvx = 1u << 28, kF16c = 1u << 29;  // 1, ECX
constexpr unsigned kAvx2 = 1u << 5, kAvx512f = 1u << 16, kAvx512dq = 1u << 17, kSha = 1u << 29, kAvx512bw = 1u << 30,
                   kAvx512vl = 1u << 31;  // 7, EBX

}  // namespace

Processor detectProcessor() {
    const Registers basic = cpuid(1);
    const Registers extended = cpuid(7);
    const bool sha = has(basic.c, kSse41) && has(extended.b, kSha);
    if (!has(basic.c, kFma | kOsxsave | kAvx | kF16c)) return {false, false, sha};
    const std::uint64_t saved = savedRegisters();
    const bool avx2 = has(saved, kXmmYmm) && has(extended.b, kAvx2);
    // macOS gives a thread AVX-512 registers only at their first use, so XCR0 does not show them.
    const bool avx512 = avx2 && has(saved, kZmm) && has(extended.b, kAvx512f | kAvx512dq | kAvx512bw | kAvx512vl);
    return {avx2, avx512, sha};
}

}  // namespace layerloom
