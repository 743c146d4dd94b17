#include "../simd/scalar.hpp"
// After the vectors that it uses.
#include "../elementwise.inl"

namespace layerloom {

extern const Kernels kScalar;
constinit const Kernels kScalar = makeKernels<Scalar>("scalar");

}  // namespace layerloom
