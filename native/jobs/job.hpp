#pragma once
#include <cstdint>
#include <variant>
#include <vector>

#include "program.hpp"
#include "status.hpp"

namespace layerloom {

/// Copies bytes [first, first + count) of a tensor of any dtype.
struct Copy {
    Location source, to;
    std::uint64_t first, count;
};

/// Copies the first source's bytes after checking that all others are equal.
struct Same {
    std::vector<Location> sources;
    Location to;
    std::uint64_t first, count;
};

/// A value of a program and the tensor that receives it: a node, or an unchanged source.
struct Output {
    ValueId value;
    Location to;
    DType dtype;
    bool scales;  ///< the tensor receives a quantising node's scales, in float32, instead of its values
};

/// Computes a slice of one or several output tensors from the same inputs, which are read once.
struct Compute {
    Program program;
    std::vector<Output> outputs;
    /// Memory shared by the jobs of a tensor, or empty: the number of tallied elements, then for each term of
    /// a vote the `Tally` of its lower and of its upper bound. Written atomically.
    std::span<std::int64_t> tally = {};
};

constexpr std::size_t tallyWords(std::size_t terms) { return 1 + 6 * terms; }

/// A slice of output tensors.
using Job = std::variant<Copy, Same, Compute>;

/// Runs a job on the calling thread, tile by tile. Private memory is one tile, for any job size.
Status run(const Kernels& kernels, const Job& job, Control control);

Status run(const Copy& copy, Control control);
Status run(const Same& same, Control control);
Status run(const Kernels& kernels, const Compute& compute, Control control);

/// Output bytes between two checks of the cancel flag: small enough to stay in the L2 cache between kernel
/// and write.
inline constexpr std::size_t kTileBytes = 1024 * 1024;

}  // namespace layerloom
