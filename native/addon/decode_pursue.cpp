#include <algorithm>

#include "decode.hpp"

namespace layerloom {

PursuitCall toPursuitCall(const Napi::Value& pursuit, const Napi::Value& out) {
    const Napi::Object object = toObject(pursuit, "pursuit");
    PursuitCall call{
        {toProgram(object.Get("atoms")), toProgram(object.Get("targets")), readInteger(object, "k")}, {}};
    // Last, as `toSpan` demands.
    call.out = toSpan<double>(out, "out");
    check(call.what, call.out);
    std::ranges::fill(call.out, 0);
    return call;
}

}  // namespace layerloom
