#pragma once
#include <cstdint>
#include <span>

#include "../kernels/sha256.hpp"
#include "sources.hpp"

namespace layerloom {

/// A part of a file that is hashed, from a whole number of blocks on.
struct HashedRange {
    Range range;
    bool last;  ///< the file ends with it; else it is of whole blocks
};

/// Hashes the next part of one file or of two, which are read together. `states` has the words of each: after
/// what is before the part, and once it is done after the part; after the last part they are the file's SHA-256.
Status hash(const Sha256& sha256, std::span<const HashedRange> ranges, std::span<std::uint32_t> states,
            Control control);

}  // namespace layerloom
