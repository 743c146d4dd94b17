#pragma once
#include <cstdint>
#include <span>

#include "../kernels/sha256.hpp"
#include "sources.hpp"

namespace layerloom {

/// A part of a file to hash; starts at a multiple of the block size.
struct HashedRange {
    Range range;
    bool last;  ///< the file ends here; otherwise the part consists of whole blocks
};

/// Hashes the next part of one or two files, read together. `states` holds each file's words: before the part
/// on entry, after it on return. After the last part they are the file's SHA-256.
Status hash(const Sha256& sha256, std::span<const HashedRange> ranges, std::span<std::uint32_t> states,
            Control control);

}  // namespace layerloom
