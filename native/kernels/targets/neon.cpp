#include "../simd/neon.hpp"
// The kernels, over the vectors above.
#include "../elementwise.inl"

namespace layerloom {

extern const Kernels kNeon;
constinit const Kernels kNeon = makeKernels<Neon>("neon");

}  // namespace layerloom
