#include "../simd/neon.hpp"
// Included after the vectors that it uses.
#include "../elementwise.inl"

namespace layerloom {

extern const Kernels kNeon;
constinit const Kernels kNeon = makeKernels<Neon>("neon");

}  // namespace layerloom
