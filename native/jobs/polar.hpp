#pragma once
#include "definite.hpp"

namespace layerloom {

/// Replaces X, which has at least as many rows as columns, by the polar factor UVᵀ of X = UΣVᵀ, in four
/// rounds of Nakatsukasa, Bai and Gygi (2010). Each singular value σ becomes f(σ): 1 to within 4e-8 if σ is
/// above 4e-9 of √‖XᵀX‖, less below, and 0 for 0. Bits are equal on every instruction set (docs/numbers.md).
///
/// @param isFinite set to false if X or its Gram matrix is not finite; X is then undefined
/// @return Done or Cancelled
Outcome toPolarFactor(const Kernels& kernels, TiledRows& x, const Control& control, bool& isFinite);

/// Makes columns orthonormal without changing their span, by two Cholesky factorisations. If columns are
/// dependent, replaces the matrix by its polar factor.
///
/// @return Done or Cancelled
Outcome makeOrthonormal(const Kernels& kernels, TiledRows& x, const Control& control);

}  // namespace layerloom
