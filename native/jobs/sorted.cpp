#include "sorted.hpp"

#include <cstring>
#include <utility>

namespace layerloom {

std::span<const std::uint64_t> Sorted::magnitudes(std::span<const float> x) {
    constexpr std::size_t bits = 8, values = 1 << bits;
    // Parts of the row take turns: where many elements are tied, a counter need not wait for itself.
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
        std::uint32_t magnitude;
        std::memcpy(&magnitude, &x[i], sizeof magnitude);
        from_[i] = static_cast<std::uint64_t>(magnitude & 0x7FFF'FFFFu) << 32 | i;
        varies |= from_[i] ^ from_[0];
    }
    for (std::size_t shift = 32; shift < 64; shift += bits) {
        // A digit that is the same for all, as the lowest are of differences of 16-bit numbers, changes no
        // order.
        if ((varies >> shift) % values == 0) continue;
        std::uint32_t next[parts][values] = {};
        inTurns([&](std::size_t p, std::uint64_t key) { ++next[p][(key >> shift) % values]; });
        std::uint32_t place = 0;
        for (std::size_t digit = 0; digit < values; ++digit)
            for (std::size_t p = 0; p < parts; ++p) place += std::exchange(next[p][digit], place);
        inTurns([&](std::size_t p, std::uint64_t key) { to_[next[p][(key >> shift) % values]++] = key; });
        std::swap(from_, to_);
    }
    return from_;
}

}  // namespace layerloom
