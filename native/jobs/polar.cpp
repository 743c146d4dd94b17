#include "polar.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace layerloom {
namespace {

/// A column counts as dependent on earlier ones if its pivot is below this share of its squared norm.
constexpr double kIndependent = 0x1p-40;

/// A QDWH round X ← X(own·I + other·(I + weight·XᵀX)⁻¹). It maps σ to σ(a + bσ²)/(1 + cσ²), with c =
/// weight, own = b / c, other = a − b / c; best for σ from 2⁻²⁸ to 1. The numbers are constants, because the
/// cube roots in `a` differ between machines.
struct Round {
    double weight, own, other;
};
constexpr Round kRounds[] = {
    {274878431232.25, 0.9999961853136483, 1048575.000005722},
    {2631.3751327980153, 0.9617639639092208, 100.65159058213445},
    {8.31634587584137, 0.5064493462926136, 4.598088597185622},
    {3.0398759452537027, 0.33553586896031085, 2.6843526594711444},
};

/// x ← x(own·I + other·S⁻¹)
Outcome multiply(const Kernels& kernels, Definite& system, double own, double other, TiledRows& x,
                 const Control& control) {
    for (std::size_t first = 0; first < x.rows(); first += kSolvedRows) {
        TiledRows solved(std::min(kSolvedRows, x.rows() - first), x.columns());
        const auto eachTile = [&](const auto& work) {
            for (std::size_t tile = 0; tile < x.tiles(); ++tile)
                work(x.tile(tile) + first * x.width(tile), solved.tile(tile), solved.rows() * x.width(tile));
        };
        eachTile([](const double* from, double* to, std::size_t count) { std::copy_n(from, count, to); });
        if (const Outcome outcome = system.solve(kernels, solved, control); outcome != Outcome::Done) return outcome;
        eachTile([&](double* to, const double* from, std::size_t count) {
            for (std::size_t i = 0; i < count; ++i) to[i] = own * to[i] + other * from[i];
        });
    }
    return Outcome::Done;
}

}  // namespace

Outcome toPolarFactor(const Kernels& kernels, TiledRows& x, const Control& control, bool& isFinite) {
    double squared = 0;  // ‖XᵀX‖, which is at least the largest σ²
    for (const Round& round : kRounds) {
        Definite system(x.columns());
        Outcome outcome = system.addGram(kernels, x, control);
        if (outcome != Outcome::Done) return outcome;
        const bool isFirst = &round == kRounds;
        if (isFirst) squared = system.norm();
        isFinite = std::isfinite(squared);
        if (squared == 0 || !isFinite) return Outcome::Done;
        system.scaleOntoOne(isFirst ? round.weight / squared : round.weight);
        std::optional<SmallPivot> small;
        outcome = system.factorise(kernels, 0, control, small);
        if (outcome != Outcome::Done) return outcome;
        isFinite = !small;
        if (small) return Outcome::Done;
        const double length = isFirst ? std::sqrt(squared) : 1;
        outcome = multiply(kernels, system, round.own / length, round.other / length, x, control);
        if (outcome != Outcome::Done) return outcome;
    }
    return Outcome::Done;
}

Outcome makeOrthonormal(const Kernels& kernels, TiledRows& x, const Control& control) {
    for (int time = 0; time < 2; ++time) {
        Definite gram(x.columns());
        Outcome outcome = gram.addGram(kernels, x, control);
        if (outcome != Outcome::Done) return outcome;
        std::optional<SmallPivot> small;
        outcome = gram.factorise(kernels, kIndependent, control, small);
        if (outcome != Outcome::Done) return outcome;
        if (small) {
            bool isFinite;
            return toPolarFactor(kernels, x, control, isFinite);
        }
        outcome = gram.divide(kernels, x, control);
        if (outcome != Outcome::Done) return outcome;
    }
    return Outcome::Done;
}

}  // namespace layerloom
