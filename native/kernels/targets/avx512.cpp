#include "../simd/avx512.hpp"
// The kernels, over the vectors above.
#include "../elementwise.inl"

namespace layerloom {

extern const Kernels kAvx512;
constinit const Kernels kAvx512 = makeKernels<Avx512>("avx512");

}  // namespace layerloom
