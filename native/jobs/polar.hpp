#pragma once
#include "definite.hpp"

namespace layerloom {

/// Replaces X, with at least as many rows as columns, by its polar factor UVᵀ of X = UΣVᵀ, by four rounds of
/// Nakatsukasa, Bai and Gygi (2010). Each singular value σ becomes f(σ): 1 to within 4e-8 for σ above 4e-9 of
/// √‖XᵀX‖, falling to 0 below; 0 stays 0. Equal bits on every instruction set (docs/numbers.md).
///
/// @param isFinite set to false if X or its Gram matrix is not finite; X is then undefined
/// @return Done or Cancelled
Outcome toPolarFactor(const Kernels& kernels, TiledRows& x, const Control& control, bool& isFinite);

/// Replaces independent columns by orthonormal ones of the same span, by two Cholesky factorisations; others
/// by their polar factor. @return Done or Cancelled
Outcome makeOrthonormal(const Kernels& kernels, TiledRows& x, const Control& control);

}  // namespace layerloom
