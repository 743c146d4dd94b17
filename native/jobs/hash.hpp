#pragma once
#include <cstdint>
#include <span>

#include "../kernels/sha256.hpp"
#include "sources.hpp"

namespace layerloom {

/// A part of a file that starts at a multiple of the block size.
struct HashedRange {
    Range range;
    bool last;  ///< the file ends here; otherwise the part consists of whole blocks
};

/// Hashes the next part of one or two files together. Updates each file's words in `states`; after the last
/// part, they are the SHA-256.
Status hash(const Sha256& sha256, std::span<const HashedRange> ranges, std::span<std::uint32_t> states,
            Control control);

}  // namespace layerloom
