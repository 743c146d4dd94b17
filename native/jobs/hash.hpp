#pragma once
#include <cstdint>
#include <span>

#include "../kernels/sha256.hpp"
#include "sources.hpp"

namespace layerloom {

/// A part of a message, which begins at `start` in the file. Each part begins whole blocks after `start`.
struct HashedRange {
    Range range;
    std::uint64_t start;
    bool last;  ///< the message ends here; otherwise the part consists of whole blocks
};

/// Hashes the next part of one or two messages together. Updates each message's words in `states`; after the
/// last part, they are the SHA-256.
Status hash(const Sha256& sha256, std::span<const HashedRange> ranges, std::span<std::uint32_t> states,
            Control control);

}  // namespace layerloom
