#include <algorithm>
#include <cmath>

#include "check.hpp"

namespace layerloom {
namespace {

/// Limit for the memory of the system's tiles and the matrix.
constexpr std::uint64_t kMostExtent = 65'536;

}  // namespace

void check(const Spectral& what) {
    const Program& program = what.program;
    checkMatrices(program, {what.base}, "base");
    checkMatrices(program, what.sources, "sources");
    require(!what.sources.empty(), "sources");
    require(std::min(program.columns, program.count / program.columns) <= kMostExtent, "program");
    require(std::isfinite(what.scale), "scale");
    checkElements(what.to, sizeOf(what.dtype), 0, program.count, "to");
}

}  // namespace layerloom
