#include <algorithm>

#include "accumulator.hpp"

namespace layerloom {
namespace {

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
            if (column + n == tile.program.columns) out_[row] = divergence(tile.kernels);
        });
    }

    bool isSettled() const override { return areFinite(out_); }

  private:
    /// Computed in float64, because in float32 the sum would be mostly rounding.
    double divergence(const Kernels& kernels) {
        const std::size_t columns = row_[0].size();
        for (std::size_t v = 0; v < 2; ++v) {
            exponentials_[v].resize(columns);
            kernels.exponentials(row_[v].data(), *std::ranges::max_element(row_[v]), exponentials_[v].data(),
                                 columns);
        }
        double *a = exponentials_[0].data(), *b = exponentials_[1].data();
        double sumA = 0, sumB = 0, sum = 0;
        for (std::size_t i = 0; i < columns; ++i) {
            sumA += a[i];
            sumB += b[i];
        }
        kernels.divergences(a, sumA, b, sumB, a, columns);
        for (std::size_t i = 0; i < columns; ++i) sum += a[i];
        return sum;
    }

    std::array<ValueId, 2> ids_;
    std::span<double> out_;
    std::array<std::vector<float>, 2> row_;
    std::array<std::vector<double>, 2> exponentials_;
};

}  // namespace

std::unique_ptr<Accumulator> accumulatorOf(const Divergence& divergence, const Program&,
                                           std::span<double> out) {
    return std::make_unique<Divergences>(divergence, out);
}

}  // namespace layerloom
