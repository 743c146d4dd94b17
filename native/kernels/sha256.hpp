#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace layerloom {

inline constexpr std::size_t kSha256Block = 64;

/// The words a to h between two blocks (FIPS 180-4, 6.2).
inline constexpr std::size_t kSha256Words = 8;

/// SHA-256 by a processor's own instructions.
struct Sha256 {
    /// Takes `count` blocks of 64 bytes into `state`.
    void (*one)(std::uint32_t* state, const std::byte* blocks, std::size_t count);

    /// The same of two streams, in less time than one after the other: each round waits for the one before it,
    /// and the other stream's round is done meanwhile.
    void (*two)(const std::array<std::uint32_t*, 2>& states, const std::array<const std::byte*, 2>& blocks,
                std::size_t count);
};

}  // namespace layerloom
