#include <algorithm>
#include <cmath>

#include "accumulator.hpp"

namespace layerloom {
namespace {

/// exp(x) for x ≤ 0, to about 1e-15; NaN for NaN. Uses only additions and multiplications, because libraries
/// differ.
double exponential(double x) {
    if (x < -700) return 0;
    if (std::isnan(x)) return x;
    constexpr double log2e = 1.4426950408889634, ln2High = 0.6931471803691238,
                     ln2Low = 1.9082149292705877e-10;
    const double k = std::floor(x * log2e + 0.5);
    const double r = (x - k * ln2High) - k * ln2Low;
    double sum = 1;
    for (int n = 13; n > 0; --n) sum = 1 + r * sum / n;
    return std::ldexp(sum, static_cast<int>(k));
}

/// The natural logarithm of a positive normal number, with additions and multiplications only.
double logarithm(double x) {
    int exponent;
    double m = std::frexp(x, &exponent);
    if (m < 0.70710678118654752) {
        m *= 2;
        --exponent;
    }
    const double s = (m - 1) / (m + 1), square = s * s;
    double sum = 0;
    for (int n = 21; n > 0; n -= 2) sum = 1.0 / n + square * sum;
    return exponent * 0.6931471805599453 + 2 * s * sum;
}

class Divergences : public Accumulator {
  public:
    Divergences(const Divergence& divergence, std::span<double> out)
        : ids_{divergence.value, divergence.base}, out_(out) {}

    void add(const Tile& tile) override {
        const float* x[] = {tile.floats(ids_[0]), tile.floats(ids_[1])};
        tile.forEachRow([&](std::size_t row, std::size_t column, std::size_t at, std::size_t n) {
            for (std::size_t v = 0; v < 2; ++v) {
                if (column == 0) row_[v].clear();
                row_[v].insert(row_[v].end(), x[v] + at, x[v] + at + n);
            }
            if (column + n == tile.program.columns) out_[row] = divergence();
        });
    }

    bool isSettled() const override { return areFinite(out_); }

  private:
    /// Computed in float64, because in float32 the sum would be mostly rounding.
    double divergence() {
        constexpr double epsilon = 1e-8;
        for (std::vector<double>& x : row_) {
            const double most = *std::ranges::max_element(x);
            double sum = 0;
            for (double& e : x) sum += e = exponential(e - most);
            for (double& e : x) e = e / sum + epsilon;
        }
        double sum = 0;
        for (std::size_t i = 0; i < row_[0].size(); ++i)
            sum += row_[0][i] * logarithm(row_[0][i] / row_[1][i]);
        return sum;
    }

    std::array<ValueId, 2> ids_;
    std::span<double> out_;
    std::array<std::vector<double>, 2> row_;
};

}  // namespace

std::unique_ptr<Accumulator> accumulatorOf(const Divergence& divergence, const Program&,
                                           std::span<double> out) {
    return std::make_unique<Divergences>(divergence, out);
}

}  // namespace layerloom
