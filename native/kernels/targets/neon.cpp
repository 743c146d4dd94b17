#include "../simd/neon.hpp"
// After the vectors that it uses.
#include "../elementwise.inl"

namespace layerloom {

extern const Kernels kNeon;
constinit const Kernels kNeon = makeKernels<Neon>("neon");

}  // namespace layerloom
