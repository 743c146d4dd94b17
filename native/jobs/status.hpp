#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace layerloom {

/// Rows of a matrix (docs/analysis.md): input features, along dimension 0, or output features, along
/// dimension 1.
enum class Rows : std::uint8_t { Input, Output };

enum class Outcome : std::uint8_t { Done, Cancelled, InputShrank, ReadFailed, WriteFailed, NotEqual, ThreadFailed };

/// The first NaN or infinity of a watched value.
struct NonFiniteElement {
    std::uint32_t watched;
    std::uint32_t cause;    ///< a source, or the first value that is not finite although its inputs are
    std::uint64_t element;  ///< index in the tensor
    double number;          ///< the cause's NaN or infinity
};

struct Status {
    Outcome outcome = Outcome::Done;
    int error = 0;           ///< errno, for ReadFailed, WriteFailed and ThreadFailed
    std::size_t source = 0;  ///< index of the source, for InputShrank, ReadFailed and NotEqual
    std::vector<NonFiniteElement> nonFinite = {};  ///< for Done
};

inline constexpr std::size_t kControlWords = 3;

/// 64-bit integers that the engine's threads share: a flag that stops every job at its next tile, and counts
/// of bytes read and written.
class Control {
  public:
    explicit Control(std::int64_t* shared) : shared_(shared) {}
    bool cancelled() const;
    void count(std::uint64_t read, std::uint64_t written);

  private:
    std::int64_t* shared_;
};

}  // namespace layerloom
