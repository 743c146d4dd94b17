#pragma once
#include <cstdint>
#include <span>

#include "../kernels/sha256.hpp"
#include "sources.hpp"

namespace layerloom {

/// A part of a message that begins at `start` in the file. The part begins a whole number of blocks later.
struct HashedRange {
    Range range;
    std::uint64_t start;
    bool last;  ///< the message ends here; otherwise the part consists of whole blocks
};

/// Hashes the next part of one or two messages, two together. Updates each message's words in `states`, which
/// after the last part are the SHA-256.
Status hash(const Sha256& sha256, std::span<const HashedRange> ranges, std::span<std::uint32_t> states,
            Control control);

}  // namespace layerloom
