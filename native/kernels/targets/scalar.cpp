#include "../simd/scalar.hpp"
// Included after the vectors that it uses.
#include "../elementwise.inl"

namespace layerloom {

extern const Kernels kScalar;
constinit const Kernels kScalar = makeKernels<Scalar>("scalar");

}  // namespace layerloom
