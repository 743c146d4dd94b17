#pragma once
#include <cstdint>
#include <vector>

#include "program.hpp"
#include "status.hpp"

namespace layerloom {

enum class JobKind : std::uint8_t {
    Copy,     ///< the bytes of the one source
    Same,     ///< the bytes of the first source, all others having been found equal
    Compute,  ///< values of a program
    Select,   ///< rows of the first source or of the second
};

inline constexpr std::int64_t kJobKinds = 4;

/// For Select: which rows of the matrix are the first source's, and where in it the slice begins.
struct Selection {
    std::vector<std::uint8_t> kept;  ///< for each row 1 or 0
    std::uint64_t columns;
    std::uint64_t width;  ///< bytes of an element
    std::uint64_t first;  ///< in bytes, a multiple of `width`
    RowSense sense;
};

/// Where a value of a program goes: a node's, or a source's as it stands.
struct Output {
    std::uint32_t value;
    Range to;
};

/// A slice of one output tensor, or for Compute of several that are made of the same inputs, which are read
/// once for all. `count` is in elements for Compute and in bytes for the others, which know no dtype.
struct Job {
    JobKind kind;
    std::vector<Range> sources;  ///< but for Compute, whose program has them
    Program program;
    std::vector<Output> outputs;  ///< for Compute
    Range output;                 ///< for the others
    std::uint64_t count;
    Selection selection;
};

/// Runs one job on the calling thread, tile by tile. Private memory is one tile, whatever the job's size.
Status run(const Kernels& kernels, const Job& job, Control control);

}  // namespace layerloom
