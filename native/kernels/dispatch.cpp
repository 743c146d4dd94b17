#include "dispatch.hpp"

#include <cstdlib>
#include <vector>

#ifdef LAYERLOOM_X86
#include "processor.hpp"
#endif

namespace layerloom {

extern const Kernels kScalar;
#ifdef LAYERLOOM_X86
extern const Kernels kAvx2;
extern const Kernels kAvx512;
extern const Sha256 kShaNi;
#endif
#ifdef LAYERLOOM_ARM
extern const Kernels kNeon;
#endif

namespace {

std::vector<const Kernels*> detect() {
    std::vector<const Kernels*> found;
#ifdef LAYERLOOM_X86
    const Processor processor = detectProcessor();
    if (processor.avx512) found.push_back(&kAvx512);
    if (processor.avx2) found.push_back(&kAvx2);
#endif
#ifdef LAYERLOOM_ARM
    found.push_back(&kNeon);  // every AArch64 processor has it
#endif
    found.push_back(&kScalar);
    return found;
}

}  // namespace

std::span<const Kernels* const> availableKernels() {
    static const std::vector<const Kernels*> available = detect();
    return available;
}

const Kernels* kernels() {
    static const Kernels* const chosen = []() -> const Kernels* {
        const char* forced = std::getenv("LAYERLOOM_ISA");
        if (forced == nullptr || *forced == '\0') return availableKernels().front();
        for (const Kernels* candidate : availableKernels())
            if (std::string_view(forced) == candidate->isa) return candidate;
        return nullptr;
    }();
    return chosen;
}

const Sha256* sha256() {
#ifdef LAYERLOOM_X86
    static const bool isThere = detectProcessor().sha;
    if (isThere && kernels() != &kScalar) return &kShaNi;
#endif
    return nullptr;
}

}  // namespace layerloom
