#pragma once
#include <cstdint>
#include <vector>

#include "../kernels/kernels.hpp"

namespace layerloom {

/// Elements of one dtype in an open file, from a byte offset.
struct Range {
    int fd;
    std::uint64_t offset;
    DType dtype;
};

enum class JobKind : std::uint8_t {
    Copy,    ///< the bytes of the one source
    Same,    ///< the bytes of the first source, all others having been found equal
    Linear,  ///< Σ weight · source, by the numeric contract
    Select,  ///< rows of the first source or of the second
};

inline constexpr std::int64_t kJobKinds = 4;

/// What a row of a matrix is (docs/analysis.md): an input feature, along dimension 0, or an output one.
enum class RowSense : std::uint8_t { Input, Output };

inline constexpr std::int64_t kRowSenses = 2;

/// For Select: which rows of the matrix are the first source's, and where in it the slice begins.
struct Selection {
    std::vector<std::uint8_t> kept;  ///< for each row 1 or 0
    std::uint64_t columns;
    std::uint64_t width;  ///< bytes of an element
    std::uint64_t first;  ///< in bytes, a multiple of `width`
    RowSense sense;
};

/// A slice of one output tensor. `count` is in elements for Linear and in bytes for the others, which know no
/// dtype.
struct Job {
    JobKind kind;
    std::vector<Range> sources;
    std::vector<double> weights;
    Range output;
    std::uint64_t count;
    Selection selection;
};

enum class Outcome : std::uint8_t { Done, Cancelled, InputShrank, ReadFailed, WriteFailed, NotEqual };

struct Status {
    Outcome outcome = Outcome::Done;
    int error = 0;           ///< errno, for ReadFailed and WriteFailed
    std::size_t source = 0;  ///< which source, for InputShrank, ReadFailed and NotEqual
};

/// Three 64-bit integers that the engine's threads share: a flag that stops every job at its next tile, and
/// how many bytes were read from inputs and written to outputs.
class Control {
  public:
    explicit Control(std::int64_t* shared) : shared_(shared) {}
    bool cancelled() const;
    void count(std::uint64_t read, std::uint64_t written);

  private:
    std::int64_t* shared_;
};

/// Runs one job on the calling thread, tile by tile. Private memory is one tile, whatever the job's size.
Status run(const Kernels& kernels, const Job& job, Control control);

}  // namespace layerloom
