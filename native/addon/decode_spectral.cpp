#include "decode.hpp"

namespace layerloom {

Spectral toSpectral(const Napi::Value& value) {
    constexpr const char* rules[] = {"iso_c", "tsv_m"};
    const Napi::Object object = toObject(value, "spectral");
    Spectral what{readName<SpectralRule>(object, "rule", rules), toProgram(object.Get("program")),
                  readValue(object, "base"), readValues(object, "sources"), readNumber(object, "scale"),
                  readDType(object), toLocation(object.Get("to"))};
    check(what);
    return what;
}

}  // namespace layerloom
