#pragma once
#include <cstdint>
#include <variant>
#include <vector>

#include "program.hpp"
#include "status.hpp"

namespace layerloom {

/// Copies bytes [first, first + count) of a tensor.
struct Copy {
    Location source, to;
    std::uint64_t first, count;
};

/// Copies the first source after checking that all sources are equal.
struct Same {
    std::vector<Location> sources;
    Location to;
    std::uint64_t first, count;
};

/// A node, or an unchanged source, and where it is written.
struct Output {
    ValueId value;
    Location to;
    DType dtype;
    bool scales;  ///< the tensor receives a quantising node's scales, in float32, instead of its values
};

/// Computes a slice of several outputs from common inputs, which are read once.
struct Compute {
    Program program;
    std::vector<Output> outputs;
    /// Memory that all jobs of a tensor share, written atomically; may be empty. Holds the number of tallied
    /// elements, then for each term the `Tally` of its lower and upper bound.
    std::span<std::int64_t> tally = {};
};

constexpr std::size_t tallyWords(std::size_t terms) { return 1 + 6 * terms; }

using Job = std::variant<Copy, Same, Compute>;

/// Runs a job tile by tile, with memory for one tile.
Status run(const Kernels& kernels, const Job& job, Control control);

Status run(const Copy& copy, Control control);
Status run(const Same& same, Control control);
Status run(const Kernels& kernels, const Compute& compute, Control control);

/// Output bytes between checks of the cancel flag. They stay in the L2 cache from kernel to write.
inline constexpr std::size_t kTileBytes = 1024 * 1024;

}  // namespace layerloom
