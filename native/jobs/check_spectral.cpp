#include <algorithm>
#include <cmath>

#include "check.hpp"

namespace layerloom {
namespace {

/// Largest system; its tiles and the matrix are in the process's memory.
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
