#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "accumulator.hpp"

namespace layerloom {
namespace {

template <class T>
T loadAt(const std::byte* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

/// Counts words that differ. Counters are as wide as words, so that both fill equal vector lanes. Runs are
/// too short to overflow them.
template <class Word>
std::size_t countOtherWords(const std::byte* a, const std::byte* b, std::size_t count) {
    constexpr std::size_t run = std::min<std::uint64_t>(std::numeric_limits<Word>::max(), 1024);
    std::size_t total = 0;
    for (std::size_t begin = 0; begin < count; begin += run) {
        const std::size_t end = std::min(begin + run, count);
        Word other = 0;
        for (std::size_t i = begin; i < end; ++i)
            other += loadAt<Word>(a + i * sizeof(Word)) != loadAt<Word>(b + i * sizeof(Word)) ? 1 : 0;
        total += other;
    }
    return total;
}

std::size_t countOtherBits(const std::byte* a, const std::byte* b, std::size_t width, std::size_t count) {
    switch (width) {
        case 1:
            return countOtherWords<std::uint8_t>(a, b, count);
        case 2:
            return countOtherWords<std::uint16_t>(a, b, count);
        case 4:
            return countOtherWords<std::uint32_t>(a, b, count);
        default:
            return countOtherWords<std::uint64_t>(a, b, count);
    }
}

bool isEqual(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

class DifferenceTotals : public Accumulator {
  public:
    DifferenceTotals(const Difference& what, const Program& program, std::span<double> out)
        : what_(what),
          out_(out),
          isOneDtype_(program.dtypeOf(what.a) == program.dtypeOf(what.b)),
          isWide_(program.dtypeOf(what.a) == DType::F64 || program.dtypeOf(what.b) == DType::F64) {}

    void add(const Tile& tile) override {
        const Source a = tile.evaluator.value(what_.a), b = tile.evaluator.value(what_.b);
        const std::size_t width = sizeOf(a.dtype);
        const std::size_t otherBits = isOneDtype_ ? countOtherBits(a.data, b.data, width, tile.count) : 0;
        numberOf(DifferenceNumber::OtherBits) += static_cast<double>(otherBits);
        const std::uint64_t unequalBefore = counts_.unequal;
        if (what_.numbers) isWide_ ? addWide(tile) : addFloats(tile);
        const bool differs = isOneDtype_ ? otherBits > 0 : counts_.unequal > unequalBefore;
        if (differs && numberOf(DifferenceNumber::First) == 0) findFirst(tile);
    }

    void finish() override {
        numberOf(DifferenceNumber::Unequal) = static_cast<double>(counts_.unequal);
        numberOf(DifferenceNumber::NonFinite) = static_cast<double>(counts_.nonFinite);
        for (const double largest : lanes_.largest)
            numberOf(DifferenceNumber::Largest) = std::max(numberOf(DifferenceNumber::Largest), largest);
        numberOf(DifferenceNumber::Absolute) = total(std::to_array(lanes_.absolute));
        numberOf(DifferenceNumber::Squares) = total(std::to_array(lanes_.squares));
        numberOf(DifferenceNumber::SquaresOfFirst) = total(std::to_array(lanes_.squaresOfFirst));
    }

  private:
    double& numberOf(DifferenceNumber number) { return out_[static_cast<std::size_t>(number)]; }

    void addFloats(const Tile& tile) {
        tile.kernels.difference(tile.floats(what_.a), tile.floats(what_.b), lanes_, counts_, tile.count);
    }

    /// Adds float64 values; no kernel computes in float64.
    void addWide(const Tile& tile) {
        const auto a = widenedOf(tile, what_.a), b = widenedOf(tile, what_.b);
        for (std::size_t i = 0; i < tile.count; ++i) {
            const double x = a(i), y = b(i);
            counts_.unequal += isEqual(x, y) ? 0 : 1;
            const double magnitude = std::fabs(x - y);
            if (!std::isfinite(x) || !std::isfinite(y) || !std::isfinite(magnitude)) {
                ++counts_.nonFinite;
                continue;
            }
            const std::size_t lane = i % kLanes;
            lanes_.largest[lane] = std::max(lanes_.largest[lane], magnitude);
            lanes_.absolute[lane] += magnitude;
            lanes_.squares[lane] += magnitude * magnitude;
            lanes_.squaresOfFirst[lane] += x * x;
        }
    }

    struct Widened {
        const std::byte* doubles;
        const float* floats;
        double operator()(std::size_t i) const {
            return doubles != nullptr ? loadAt<double>(doubles + i * sizeof(double)) : floats[i];
        }
    };

    Widened widenedOf(const Tile& tile, ValueId id) const {
        const Source source = tile.evaluator.value(id);
        if (source.dtype == DType::F64) return {source.data, nullptr};
        return {nullptr, tile.floats(id)};
    }

    /// Compares bits if the dtypes are equal, otherwise values.
    void findFirst(const Tile& tile) {
        const Source a = tile.evaluator.value(what_.a), b = tile.evaluator.value(what_.b);
        const std::size_t width = sizeOf(a.dtype);
        std::size_t i = 0;
        if (isOneDtype_) {
            while (std::memcmp(a.data + i * width, b.data + i * width, width) == 0) ++i;
        } else {
            const auto x = widenedOf(tile, what_.a), y = widenedOf(tile, what_.b);
            while (isEqual(x(i), y(i))) ++i;
        }
        numberOf(DifferenceNumber::First) = static_cast<double>(tile.program.first + tile.begin + i + 1);
    }

    const Difference& what_;
    std::span<double> out_;
    bool isOneDtype_, isWide_;
    DifferenceLanes lanes_{};
    DifferenceCounts counts_{};
};

/// Compares a block by memcmp, without arithmetic. If bytes differ, `DifferenceTotals` reads the block again
/// and measures the difference.
class BytesCompared : public Accumulator {
  public:
    BytesCompared(const Difference& what, const Program& program, std::span<double> out)
        : what_(what), program_(program), out_(out) {}

    void add(const Tile& tile) override {
        const Source a = tile.evaluator.value(what_.a), b = tile.evaluator.value(what_.b);
        isEqual_ = isEqual_ && std::memcmp(a.data, b.data, tile.count * sizeOf(a.dtype)) == 0;
    }

    bool done() const override { return !isEqual_; }
    bool isSettled() const override { return isEqual_; }

    std::unique_ptr<Accumulator> again(bool) override {
        return std::make_unique<DifferenceTotals>(what_, program_, out_);
    }

  private:
    const Difference& what_;
    const Program& program_;
    std::span<double> out_;
    bool isEqual_ = true;
};

}  // namespace

std::unique_ptr<Accumulator> accumulatorOf(const Difference& difference, const Program& program,
                                           std::span<double> out) {
    if (difference.equalBlocks || program.dtypeOf(difference.a) != program.dtypeOf(difference.b))
        return std::make_unique<DifferenceTotals>(difference, program, out);
    return std::make_unique<BytesCompared>(difference, program, out);
}

}  // namespace layerloom
