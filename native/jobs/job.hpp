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
};

inline constexpr std::int64_t kJobKinds = 3;

/// A slice of one output tensor. `count` is in elements for Linear and in bytes for Copy and Same, which know
/// no dtype.
struct Job {
    JobKind kind;
    std::vector<Range> sources;
    std::vector<double> weights;
    Range output;
    std::uint64_t count;
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
