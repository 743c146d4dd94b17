#include "../simd/avx2.hpp"
// Included after the vectors that it uses.
#include "../elementwise.inl"

namespace layerloom {

extern const Kernels kAvx2;
constinit const Kernels kAvx2 = makeKernels<Avx2>("avx2");

}  // namespace layerloom
