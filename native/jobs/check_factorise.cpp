#include <algorithm>

#include "check.hpp"

namespace layerloom {
namespace {

/// Matrices of this size are decomposed on one thread.
constexpr std::uint64_t kMostRank = 4096;

}  // namespace

void check(const Factorisation& what, std::span<const double> out) {
    const Program& program = what.program;
    check(program);
    require(program.first == 0 && program.count > 0 && program.count % program.columns == 0, "program");
    require(what.value < program.sources.size() + program.nodes.size() && !program.isWhole(what.value),
            "value");
    const std::uint64_t rows = program.count / program.columns;
    require(what.rank >= 1 && what.rank <= std::min({rows, program.columns, kMostRank}), "rank");
    require(what.share > 0 && what.share <= 1, "share");
    require(what.dtype == DType::BF16 || what.dtype == DType::F16 || what.dtype == DType::F32, "dtype");
    const auto factor = [&](const Location& at, std::uint64_t extent, const char* name) {
        checkElements(at, sizeOf(what.dtype), 0, checkedLength(extent, what.rank, name), name);
    };
    factor(what.left, rows, "left");
    factor(what.right, program.columns, "right");
    require(out.size() == kFactorNumbers + what.rank, "out");
}

}  // namespace layerloom
