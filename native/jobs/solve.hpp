#pragma once
#include <variant>

#include "factorise.hpp"
#include "pursue.hpp"
#include "regress.hpp"
#include "spectral.hpp"

namespace layerloom {

/// A computation over whole matrices. addon/decode_solve.cpp has a reader for each.
using Solver = std::variant<Factorisation, Regression, Spectral, Pursuit>;

/// @throws BadJob
void check(const Solver& solver, std::span<const double> out);

/// @param out as many zeros as the solver's `size`
Status solve(const Kernels& kernels, const Solver& solver, std::span<double> out, Control control);

}  // namespace layerloom
