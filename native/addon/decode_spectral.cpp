#include "decode.hpp"

namespace layerloom {

Spectral toSpectral(const Napi::Value& value) {
    const Napi::Object object = toObject(value, "spectral");
    Spectral what{toProgram(object.Get("program")), readValue(object, "base"), readValues(object, "sources"),
                  readNumber(object, "scale"), readDType(object), toLocation(object.Get("to"))};
    check(what);
    return what;
}

}  // namespace layerloom
