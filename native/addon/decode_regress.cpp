#include <algorithm>

#include "decode.hpp"

namespace layerloom {

RegressionCall toRegressionCall(const Napi::Value& regression, const Napi::Value& out) {
    const Napi::Object object = toObject(regression, "regression");
    RegressionCall call{{toProgram(object.Get("matrices")), readValues(object, "values"),
                         toProgram(object.Get("grams")), readValues(object, "of"), readNumbers<double>(object, "shares"),
                         readNumber(object, "scaling"), readNumber(object, "ridge"), readDType(object),
                         toLocation(object.Get("to"))},
                        {}};
    // Last, as `toSpan` demands.
    call.out = toSpan<double>(out, "out");
    check(call.what, call.out);
    std::ranges::fill(call.out, 0);
    return call;
}

}  // namespace layerloom
