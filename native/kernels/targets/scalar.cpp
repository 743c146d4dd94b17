#include "../simd/scalar.hpp"
// The kernels, over the vectors above.
#include "../elementwise.inl"

namespace layerloom {

extern const Kernels kScalar;
constinit const Kernels kScalar = makeKernels<Scalar>("scalar");

}  // namespace layerloom
