#include "decode.hpp"

namespace layerloom {

HashCall toHashCall(const Napi::Value& ranges, const Napi::Value& states) {
    HashCall call{readAll(toArray(ranges, "ranges"),
                          [](const Napi::Value& value) -> HashedRange {
                              const Napi::Object range = toObject(value, "range");
                              const auto [fd, begin] = toLocation(range);
                              return {{fd, begin, readInteger(range, "length")}, readBoolean(range, "last")};
                          }),
                  {}};
    // Last, as `toSpan` demands.
    call.states = toSpan<std::uint32_t>(states, "states");
    check(call.ranges, call.states);
    return call;
}

}  // namespace layerloom
