#pragma once
#include <cstdint>
#include <variant>
#include <vector>

#include "program.hpp"
#include "status.hpp"

namespace layerloom {

/// Copies bytes [first, first + count) of a tensor, whatever their dtype.
struct Copy {
    Location source, to;
    std::uint64_t first, count;
};

/// Copies the same of the first source, once those of all the others are found equal.
struct Same {
    std::vector<Location> sources;
    Location to;
    std::uint64_t first, count;
};

/// A value of a program, and the tensor that it goes to: a node's, or a source's as it stands.
struct Output {
    ValueId value;
    Location to;
    DType dtype;
    bool scales;  ///< the tensor is of the scales of a node that quantises, in float32, and not of its values
};

/// Computes a slice of one output tensor, or of several that are made of the same inputs, which are read once
/// for all.
struct Compute {
    Program program;
    std::vector<Output> outputs;
    /// Memory of the job and others of its tensor, or empty: the elements that were tallied; then for each term
    /// of a vote the `Tally` of its lower bound and of its upper one. Its writes are atomic.
    std::span<std::int64_t> tally = {};
};

/// Words of a tally of so many terms.
constexpr std::size_t tallyWords(std::size_t terms) { return 1 + 6 * terms; }

/// A slice of output tensors.
using Job = std::variant<Copy, Same, Compute>;

/// Runs one job on the calling thread, tile by tile. Private memory is one tile, whatever the job's size.
Status run(const Kernels& kernels, const Job& job, Control control);

Status run(const Copy& copy, Control control);
Status run(const Same& same, Control control);
Status run(const Kernels& kernels, const Compute& compute, Control control);

/// Output bytes between two looks at the cancel flag: small enough to stay in the L2 cache between kernel and
/// write.
inline constexpr std::size_t kTileBytes = 1024 * 1024;

}  // namespace layerloom
