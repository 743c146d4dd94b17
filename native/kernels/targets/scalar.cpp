#include "../simd/scalar.hpp"
// The text of the kernels, over the vectors above.
#include "../elementwise.inl"

namespace layerloom {

extern const Kernels kScalar;
constinit const Kernels kScalar = makeKernels<Scalar>("scalar");

}  // namespace layerloom
