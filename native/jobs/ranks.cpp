#include "ranks.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace layerloom {
namespace {

constexpr std::uint32_t kLargest = 0x7FFF'FFFF;

std::uint32_t magnitudeOf(float x) { return std::bit_cast<std::uint32_t>(x) & kLargest; }

/// Maximum number of counters, which are cleared and summed for each row. Rows that need more are sorted.
constexpr std::size_t kMostDigits = 1 << 15;

}  // namespace

bool Ranks::count(std::span<const float> x) {
    digits_.resize(x.size());
    const auto [all, least, most] = kernels_.magnitudes(x.data(), digits_.data(), x.size());
    // Drops low bits that are 0 in all elements. Digit 0 means 0; others start at the smallest magnitude.
    const int unused = std::countr_zero(all | ~kLargest);
    const std::uint32_t before = ((least + 1) >> unused) - 1, digits = (most >> unused) - before + 1;
    if (digits > std::min(kMostDigits, 2 * x.size())) return false;
    next_.assign(digits, 0);
    for (std::uint32_t& digit : digits_) digit = digit == 0 ? 0 : (digit >> unused) - before;
    for (const std::uint32_t digit : digits_) ++next_[digit];
    std::uint32_t rank = 0;
    for (std::uint32_t& next : next_) rank += std::exchange(next, rank);
    return true;
}

void Ranks::sort(std::span<const float> x) {
    constexpr std::size_t bits = 8, values = 1 << bits;
    // Gives each part of the row its own counters, so that equal elements do not wait for one counter.
    constexpr std::size_t parts = 4;
    const std::size_t count = x.size(), part = count / parts;
    const auto inTurns = [&](const auto& work) {
        for (std::size_t i = 0; i < part; ++i)
            for (std::size_t p = 0; p < parts; ++p) work(p, from_[p * part + i]);
        for (std::size_t i = parts * part; i < count; ++i) work(parts - 1, from_[i]);
    };
    from_.resize(count);
    to_.resize(count);
    std::uint64_t varies = 0;
    for (std::size_t i = 0; i < count; ++i) {
        from_[i] = static_cast<std::uint64_t>(magnitudeOf(x[i])) << 32 | i;
        varies |= from_[i] ^ from_[0];
    }
    for (std::size_t shift = 32; shift < 64; shift += bits) {
        // Skips a digit that is equal in all elements, as the lowest digits are in differences of 16-bit
        // numbers.
        if ((varies >> shift) % values == 0) continue;
        std::uint32_t next[parts][values] = {};
        inTurns([&](std::size_t p, std::uint64_t key) { ++next[p][(key >> shift) % values]; });
        std::uint32_t place = 0;
        for (std::size_t digit = 0; digit < values; ++digit)
            for (std::size_t p = 0; p < parts; ++p) place += std::exchange(next[p][digit], place);
        inTurns([&](std::size_t p, std::uint64_t key) { to_[next[p][(key >> shift) % values]++] = key; });
        std::swap(from_, to_);
    }
}

}  // namespace layerloom
