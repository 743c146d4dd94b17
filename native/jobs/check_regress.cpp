#include <cmath>

#include "check.hpp"

namespace layerloom {
namespace {

/// Limit for the memory of the system's tiles, and of those of rows to solve.
constexpr std::uint64_t kMostInputs = 65'536;

}  // namespace

void check(const Regression& what, std::span<const double> out) {
    checkMatrices(what.matrices, what.values, "values");
    checkMatrices(what.grams, what.of, "of");
    const std::uint64_t inputs = what.matrices.columns;
    require(inputs <= kMostInputs && what.grams.columns == inputs && what.grams.count == inputs * inputs, "grams");
    require(!what.values.empty() && what.of.size() == what.values.size(), "of");
    require(what.shares.size() == what.values.size(), "shares");
    for (const double share : what.shares) require(share > 0 && share <= 1, "shares");
    require(what.scaling >= 0 && what.scaling <= 1, "scaling");
    require(what.ridge >= 0 && std::isfinite(what.ridge), "ridge");
    checkElements(what.to, sizeOf(what.dtype), 0, what.matrices.count, "to");
    require(out.size() == kRegressionNumbers, "out");
}

}  // namespace layerloom
