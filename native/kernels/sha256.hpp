#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace layerloom {

inline constexpr std::size_t kSha256Block = 64;

/// Number of words (a to h) between two blocks (FIPS 180-4, 6.2).
inline constexpr std::size_t kSha256Words = 8;

struct Sha256 {
    /// Hashes `count` blocks of 64 bytes.
    void (*one)(std::uint32_t* state, const std::byte* blocks, std::size_t count);

    /// Hashes two streams at once, which is faster: while a round of one waits for the previous round, the
    /// other runs.
    void (*two)(const std::array<std::uint32_t*, 2>& states, const std::array<const std::byte*, 2>& blocks,
                std::size_t count);
};

}  // namespace layerloom
