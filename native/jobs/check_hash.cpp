#include "check.hpp"

namespace layerloom {

void check(std::span<const HashedRange> ranges, std::span<const std::uint32_t> states) {
    require(ranges.size() == 1 || ranges.size() == 2, "ranges");
    for (const auto& [range, last] : ranges) {
        require(range.offset % kSha256Block == 0, "begin");
        require(last || range.length % kSha256Block == 0, "length");
        checkElements({range.fd, range.offset}, 1, 0, range.length, "length");
    }
    require(states.size() == ranges.size() * kSha256Words, "states");
}

}  // namespace layerloom
