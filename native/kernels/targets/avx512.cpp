#include "../simd/avx512.hpp"
// Included after the vectors that it uses.
#include "../elementwise.inl"

namespace layerloom {

extern const Kernels kAvx512;
constinit const Kernels kAvx512 = makeKernels<Avx512>("avx512");

}  // namespace layerloom
