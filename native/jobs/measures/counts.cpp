#include <algorithm>
#include <cstring>

#include "accumulator.hpp"

namespace layerloom {
namespace {

class HistogramCounts : public Accumulator {
  public:
    HistogramCounts(const Histogram& histogram, std::span<double> out)
        : histogram_(histogram), out_(out), bins_(histogram.counts.size()) {}

    void add(const Tile& tile) override {
        std::uint64_t exact[kCandidates] = {};
        const auto [terms, dtype] = tile.evaluator.sum(histogram_.value, 0);
        out_[0] += static_cast<double>(tile.kernels.histogram[static_cast<std::size_t>(dtype)](
            terms, histogram_.window, bins_.data(), exact, tile.count));
        for (std::size_t c = 0; c < kCandidates; ++c) out_[1 + c] += static_cast<double>(exact[c]);
    }

    void finish() override {
        const Window& window = histogram_.window;
        for (std::size_t c = 0; c < window.wanted; ++c)
            bins_[(window.candidates[c] - window.low) >> window.shift] +=
                static_cast<std::uint32_t>(out_[1 + c]);
        // Threads add integers to shared counts, in any order. Skips zeros, which most counts are.
        constexpr std::size_t together = 16;
        for (std::size_t at = 0; at < bins_.size(); at += together) {
            const std::size_t end = std::min(at + together, bins_.size());
            std::uint32_t any = 0;
            for (std::size_t i = at; i < end; ++i) any |= bins_[i];
            if (any == 0) continue;
            for (std::size_t i = at; i < end; ++i)
                if (const std::uint32_t count = bins_[i]; count != 0)
                    __atomic_fetch_add(&histogram_.counts[i], count, __ATOMIC_RELAXED);
        }
    }

  private:
    const Histogram& histogram_;
    std::span<double> out_;
    std::vector<std::uint32_t> bins_;
};

class AloneCounts : public Accumulator {
  public:
    AloneCounts(const CountAlone& what, std::span<double> out)
        : what_(what), out_(out), x_(what.values.size()), counts_(out.size()) {}

    void add(const Tile& tile) override {
        std::ranges::transform(what_.values, x_.begin(), [&](ValueId id) { return tile.floats(id); });
        tile.kernels.countAlone(x_.data(), x_.size(), what_.bits, counts_.data(), tile.count);
    }

    void finish() override { std::ranges::copy(counts_, out_.begin()); }

  private:
    const CountAlone& what_;
    std::span<double> out_;
    std::vector<const float*> x_;
    std::vector<std::uint64_t> counts_;
};

class MagnitudeCount : public Accumulator {
  public:
    MagnitudeCount(const CountMagnitude& what, std::span<double> out) : what_(what), out_(out) {}

    void add(const Tile& tile) override {
        out_[0] += static_cast<double>(
            tile.kernels.countMagnitude(tile.floats(what_.value), what_.bits, tile.count));
    }

  private:
    const CountMagnitude& what_;
    std::span<double> out_;
};

class MagnitudeSearch : public Accumulator {
  public:
    MagnitudeSearch(const FindMagnitude& what, std::span<double> out) : what_(what), out_(out) {}

    void add(const Tile& tile) override {
        const float* x = tile.floats(what_.value);
        const std::uint64_t found = tile.kernels.countMagnitude(x, what_.bits, tile.count);
        if (seen_ + found < what_.ordinal) {
            seen_ += found;
            return;
        }
        for (std::size_t i = 0; i < tile.count && !done(); ++i) {
            std::uint32_t bits;
            std::memcpy(&bits, x + i, sizeof bits);
            if ((bits & 0x7FFF'FFFFu) == what_.bits && ++seen_ == what_.ordinal)
                out_[0] = static_cast<double>(tile.program.first + tile.begin + i);
        }
    }

    bool done() const override { return seen_ == what_.ordinal; }

  private:
    const FindMagnitude& what_;
    std::span<double> out_;
    std::uint64_t seen_ = 0;
};

class SignSum : public Accumulator {
  public:
    SignSum(const Signs& signs, std::span<double> out) : value_(signs.value), out_(out) {}

    void add(const Tile& tile) override {
        out_[0] += static_cast<double>(tile.kernels.sumSigns(tile.floats(value_), tile.count));
    }

  private:
    ValueId value_;
    std::span<double> out_;
};

}  // namespace

std::unique_ptr<Accumulator> accumulatorOf(const Histogram& histogram, const Program&,
                                           std::span<double> out) {
    return std::make_unique<HistogramCounts>(histogram, out);
}

std::unique_ptr<Accumulator> accumulatorOf(const CountAlone& what, const Program&, std::span<double> out) {
    return std::make_unique<AloneCounts>(what, out);
}

std::unique_ptr<Accumulator> accumulatorOf(const CountMagnitude& what, const Program&,
                                           std::span<double> out) {
    return std::make_unique<MagnitudeCount>(what, out);
}

std::unique_ptr<Accumulator> accumulatorOf(const FindMagnitude& what, const Program&, std::span<double> out) {
    return std::make_unique<MagnitudeSearch>(what, out);
}

std::unique_ptr<Accumulator> accumulatorOf(const Signs& signs, const Program&, std::span<double> out) {
    return std::make_unique<SignSum>(signs, out);
}

}  // namespace layerloom
