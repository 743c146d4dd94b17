#include <algorithm>

#include "decode.hpp"

namespace layerloom {
namespace {

Window readWindow(const Napi::Object& object) {
    const Napi::Object from = readObject(object, "window");
    const auto magnitude = [&](const char* key) { return toWord32(from.Get(key), key, kMostMagnitude); };
    Window window{magnitude("low"), magnitude("last"), toWord32(from.Get("shift"), "shift", 31), {}, 0};
    // Unused candidates are above every magnitude, so that none equals them.
    std::ranges::fill(window.candidates, 0xFFFF'FFFFu);
    const std::vector<std::uint32_t> candidates =
        readAll(readArray(from, "candidates"),
                [](const Napi::Value& bits) { return toWord32(bits, "candidates", kMostMagnitude); });
    require(candidates.size() <= kCandidates, "candidates");
    std::ranges::copy(candidates, window.candidates);
    window.wanted = candidates.size();
    return window;
}

std::uint32_t readBits(const Napi::Object& object) { return toWord32(object.Get("bits"), "bits"); }

template <class OfValues>
Measure readOfValues(const Napi::Object& measure) {
    return OfValues{readValues(measure, "values")};
}

template <class OfValue>
Measure readOfValue(const Napi::Object& measure) {
    return OfValue{readValue(measure, "value")};
}

constexpr Reader<Measure> kMeasures[] = {
    {"gram", readOfValues<Gram>},
    {"rowGram", readOfValues<RowGram>},
    {"columnGram", readOfValues<ColumnGram>},
    {"magnitudes", readOfValue<Magnitudes>},
    {"rowMagnitudes", readOfValue<RowMagnitudes>},
    {"columnMagnitudes", readOfValue<ColumnMagnitudes>},
    {"columnSums", readOfValue<ColumnSums>},
    {"overlaps", readOfValues<Overlaps>},
    {"nonFinite",
     [](const Napi::Object& measure) -> Measure {
         return NonFinite{readValue(measure, "base"), readValues(measure, "experts"),
                          readValues(measure, "differences")};
     }},
    // `toMeasureCall` reads the counts last.
    {"histogram",
     [](const Napi::Object& measure) -> Measure {
         return Histogram{readValue(measure, "value"), readWindow(measure), {}};
     }},
    {"countAlone",
     [](const Napi::Object& measure) -> Measure {
         return CountAlone{readValues(measure, "values"), readBits(measure)};
     }},
    {"countMagnitude",
     [](const Napi::Object& measure) -> Measure {
         return CountMagnitude{readValue(measure, "value"), readBits(measure)};
     }},
    {"findMagnitude",
     [](const Napi::Object& measure) -> Measure {
         return FindMagnitude{readValue(measure, "value"), readBits(measure),
                              readInteger(measure, "ordinal")};
     }},
    {"divergence",
     [](const Napi::Object& measure) -> Measure {
         return Divergence{readValue(measure, "value"), readValue(measure, "base")};
     }},
    {"signs", readOfValue<Signs>},
    {"difference",
     [](const Napi::Object& measure) -> Measure {
         return Difference{readValue(measure, "a"), readValue(measure, "b"), readBoolean(measure, "numbers"),
                           readBoolean(measure, "equalBlocks")};
     }},
};

}  // namespace

MeasureCall toMeasureCall(const Napi::Value& measurement, const Napi::Value& out) {
    const Napi::Object object = toObject(measurement, "measurement");
    MeasureCall call;
    call.measurement.program = toProgram(object.Get("program"));
    const Napi::Array measures = readArray(object, "measures");
    std::vector<Napi::Value> counts;
    for (std::uint32_t m = 0; m < measures.Length(); ++m) {
        const Napi::Object measure = toObject(measures.Get(m), "measure");
        call.measurement.measures.push_back(readKind(measure, kMeasures));
        counts.push_back(measure.Get("counts"));
    }
    const Napi::Array lists = toArray(out, "out");
    require(lists.Length() == counts.size(), "out");
    const auto arrays = readAll(lists, [](const Napi::Value& array) { return array; });

    // Read last, as `toSpan` requires.
    for (const Napi::Value& array : arrays) call.out.push_back(toSpan<double>(array, "out"));
    for (std::size_t m = 0; m < counts.size(); ++m)
        if (auto* histogram = std::get_if<Histogram>(&call.measurement.measures[m]))
            histogram->counts = toSpan<std::uint32_t>(counts[m], "counts");
    check(call.measurement, call.out);
    for (const std::span<double> numbers : call.out) std::ranges::fill(numbers, 0);
    return call;
}

}  // namespace layerloom
