#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <unordered_map>

#include "accumulator.hpp"

namespace layerloom {
namespace {

/// Rows summed side by side, because each addition waits for the one before.
constexpr std::size_t kRows = 4;

using RowSums = std::array<double, kRows>;

/// Returns the sum of each row in order. @param rows at most kRows rows of `columns`
RowSums sumsOf(const std::vector<double>& x, std::size_t rows, std::size_t columns) {
    const double* at[kRows];
    for (std::size_t r = 0; r < kRows; ++r) at[r] = x.data() + (r < rows ? r : 0) * columns;
    RowSums sums{};
    for (std::size_t i = 0; i < columns; ++i)
        for (std::size_t r = 0; r < kRows; ++r) sums[r] += at[r][i];
    return sums;
}

/// Returns the largest element; NaN for a positive NaN.
float largestOf(const float* x, std::size_t count) {
    // Compares integers in an order that compilers can vectorise.
    const auto ordered = [](std::int32_t bits) { return bits ^ (bits >> 31 & 0x7FFF'FFFF); };
    std::int32_t most = std::numeric_limits<std::int32_t>::min();
    for (std::size_t i = 0; i < count; ++i) most = std::max(most, ordered(std::bit_cast<std::int32_t>(x[i])));
    return std::bit_cast<float>(ordered(most));
}

/// Tables for rows of bfloat16 numbers, by largest element: many rows have the same.
class ExponentialTables {
  public:
    explicit ExponentialTables(std::size_t columns) : isWorthIt_(columns >= kTabled / 2) {}

    /// Returns null if no earlier row had this largest element, or if there can be no table.
    const ExponentialTable* of(float most, const Kernels& kernels) {
        const auto bits = std::bit_cast<std::uint32_t>(most);
        const std::uint32_t exponent = bits >> 23 & 0xFFu;
        const bool fits = exponent > kBelow && exponent + kTabled / 128 - kBelow < 255;
        if (!isWorthIt_ || !fits || (bits & 0xFFFFu) != 0) return nullptr;
        const auto [at, isNew] = tables_.try_emplace(bits);
        std::unique_ptr<ExponentialTable>& table = at->second;
        if (!isNew && table == nullptr && made_ < kMostTables) {
            table = made(most, (exponent - kBelow) << 7, kernels);
            ++made_;
        }
        return table.get();
    }

  private:
    static constexpr std::size_t kMostTables = 64;
    /// How many exponents a table reaches below the largest element's.
    static constexpr std::uint32_t kBelow = 11;

    static std::unique_ptr<ExponentialTable> made(float most, std::uint32_t low, const Kernels& kernels) {
        std::vector<float> x;
        for (const std::uint32_t sign : {0u, 0x8000u}) {
            for (std::uint32_t i = 0; i < kTabled; ++i)
                x.push_back(std::bit_cast<float>((sign | (low + i)) << 16));
            x.resize(x.size() + 2);
        }
        auto table = std::make_unique_for_overwrite<ExponentialTable>();
        table->low = low;
        kernels.exponentials(x.data(), most, nullptr, table->values, x.size());
        return table;
    }

    bool isWorthIt_;
    std::size_t made_ = 0;
    std::unordered_map<std::uint32_t, std::unique_ptr<ExponentialTable>> tables_;
};

class Divergences : public Accumulator {
  public:
    Divergences(const Divergence& divergence, std::size_t columns, std::span<double> out)
        : ids_{divergence.value, divergence.base}, out_(out), columns_(columns), tables_(columns) {}

    void add(const Tile& tile) override {
        kernels_ = &tile.kernels;
        const float* x[] = {tile.floats(ids_[0]), tile.floats(ids_[1])};
        tile.forEachRow([&](std::size_t, std::size_t, std::size_t at, std::size_t n) {
            for (std::size_t v = 0; v < 2; ++v) rows_[v].insert(rows_[v].end(), x[v] + at, x[v] + at + n);
            if (rows_[0].size() == kRows * columns_) measure();
        });
    }

    void finish() override {
        if (!rows_[0].empty()) measure();
    }

    bool isSettled() const override { return areFinite(out_); }

  private:
    /// True if rows are finite and equal the base's; divergences are then 0, as `out_` already is.
    bool areEqual() const {
        const auto* const x = reinterpret_cast<const std::byte*>(rows_[0].data());
        return std::memcmp(x, rows_[1].data(), rows_[0].size() * sizeof(float)) == 0 &&
               kernels_->isFinite[static_cast<std::size_t>(DType::F32)](x, rows_[0].size());
    }

    /// Computes in float64: in float32, the sums would be mostly rounding.
    void measure() {
        const std::size_t rows = rows_[0].size() / columns_;
        if (areEqual()) {
            for (std::vector<float>& x : rows_) x.clear();
            row_ += rows;
            return;
        }
        RowSums sums[2];
        for (std::size_t v = 0; v < 2; ++v) {
            exponentials_[v].resize(rows * columns_);
            for (std::size_t begin = 0; begin < rows * columns_; begin += columns_) {
                const float* x = rows_[v].data() + begin;
                const float most = largestOf(x, columns_);
                kernels_->exponentials(x, most, tables_.of(most, *kernels_), exponentials_[v].data() + begin,
                                       columns_);
            }
            sums[v] = sumsOf(exponentials_[v], rows, columns_);
            rows_[v].clear();
        }
        for (std::size_t r = 0; r < rows; ++r) {
            double *a = exponentials_[0].data() + r * columns_, *b = exponentials_[1].data() + r * columns_;
            kernels_->divergences(a, sums[0][r], b, sums[1][r], a, columns_);
        }
        const RowSums found = sumsOf(exponentials_[0], rows, columns_);
        std::copy_n(found.begin(), rows, out_.begin() + static_cast<std::ptrdiff_t>(row_));
        row_ += rows;
    }

    std::array<ValueId, 2> ids_;
    std::span<double> out_;
    const Kernels* kernels_ = nullptr;
    std::size_t columns_, row_ = 0;
    ExponentialTables tables_;
    std::array<std::vector<float>, 2> rows_;
    std::array<std::vector<double>, 2> exponentials_;
};

}  // namespace

std::unique_ptr<Accumulator> accumulatorOf(const Divergence& divergence, const Program& program,
                                           std::span<double> out) {
    return std::make_unique<Divergences>(divergence, static_cast<std::size_t>(program.columns), out);
}

}  // namespace layerloom
