#pragma once
#include "definite.hpp"

namespace layerloom {

/// Replaces X, which has no fewer rows than columns, by its polar factor UVᵀ of X = UΣVᵀ, without a singular value
/// decomposition: four rounds of the iteration of Nakatsukasa, Bai and Gygi (2010). Each singular value σ becomes f(σ),
/// which is 1 to 4e-8 where σ is above 4e-9 of √‖XᵀX‖, and falls to 0 with σ below. What is 0 stays 0. Every sum has an
/// order of its own (docs/numbers.md): equal bits on every instruction set.
///
/// @param isFinite set to false where X, or its Gram matrix, is not: X is undefined then
/// @return Done or Cancelled
Outcome toPolarFactor(const Kernels& kernels, TiledRows& x, const Control& control, bool& isFinite);

/// Replaces independent columns by orthonormal ones of the same span, by Cholesky factors of their Gram matrix, twice; and
/// others by their polar factor, a partial isometry onto their span. @return Done or Cancelled
Outcome makeOrthonormal(const Kernels& kernels, TiledRows& x, const Control& control);

}  // namespace layerloom
