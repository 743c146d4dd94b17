#include "solve.hpp"

#include "check.hpp"

namespace layerloom {

void check(const Solver& solver, std::span<const double> out) {
    std::visit(
        [&](const auto& one) {
            one.check();
            require(out.size() == one.size(), "out");
        },
        solver);
}

Status solve(const Kernels& kernels, const Solver& solver, std::span<double> out, Control control) {
    return std::visit([&](const auto& one) { return one.solve(kernels, out, control); }, solver);
}

}  // namespace layerloom
