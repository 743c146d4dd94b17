#include "check.hpp"

namespace layerloom {
namespace {

/// Gram matrices of this size are factorised on one thread.
constexpr std::uint64_t kMostAtoms = 4096;

void checkRows(const Program& program, const char* what) {
    check(program);
    require(program.sources.size() == 1 && program.nodes.empty() && !program.isWhole(0), what);
    require(program.count > 0 && program.first % program.columns == 0 && program.count % program.columns == 0,
            what);
}

}  // namespace

void check(const Pursuit& what, std::span<const double> out) {
    checkRows(what.atoms, "atoms");
    checkRows(what.targets, "targets");
    require(what.atoms.columns == what.targets.columns, "columns");
    require(what.atoms.first == 0, "atoms");
    require(what.k >= 1 && what.k <= kMostAtoms && what.k <= what.atoms.count / what.atoms.columns, "k");
    const std::uint64_t targets = what.targets.count / what.targets.columns;
    require(out.size() == checkedLength(targets, numbersOf(what.k), "out"), "out");
}

}  // namespace layerloom
