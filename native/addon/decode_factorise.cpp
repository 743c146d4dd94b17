#include <algorithm>

#include "decode.hpp"

namespace layerloom {

FactorCall toFactorCall(const Napi::Value& factorisation, const Napi::Value& out) {
    const Napi::Object object = toObject(factorisation, "factorisation");
    FactorCall call{{toProgram(object.Get("program")), readValue(object, "value"),
                     readInteger(object, "rank"), readNumber(object, "share"), readWord64(object, "key"),
                     readBoolean(object, "transposed"), readDType(object), toLocation(object.Get("left")),
                     toLocation(object.Get("right"))},
                    {}};
    // Last, as `toSpan` demands.
    call.out = toSpan<double>(out, "out");
    check(call.what, call.out);
    std::ranges::fill(call.out, 0);
    return call;
}

}  // namespace layerloom
