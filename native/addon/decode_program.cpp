#include "decode.hpp"

namespace layerloom {
namespace {

/// Copies: the memory may be the caller's to change, in another thread.
template <class Number>
std::vector<Number> readVector(const Napi::Object& object, const char* key) {
    const std::span<Number> numbers = toSpan<Number>(object.Get(key), key);
    return {numbers.begin(), numbers.end()};
}

float readFloat(const Napi::Object& object, const char* key) {
    return static_cast<float>(readNumber(object, key));
}

template <class Number>
std::vector<Number> readNumbers(const Napi::Object& object, const char* key) {
    return readAll(readArray(object, key),
                   [key](const Napi::Value& number) { return static_cast<Number>(toNumber(number, key)); });
}

Bound readBound(const Napi::Object& object, const char* key) {
    const Napi::Object bound = readObject(object, key);
    return {toWord32(bound.Get("bits"), "bits"), readInteger(bound, "cutoff"), readBoolean(bound, "early")};
}

VoteRule readVoteRule(const Napi::Object& object) {
    constexpr const char* ties[] = {"negative", "positive"};
    constexpr const char* divisors[] = {"none", "weights", "count"};
    VoteRule rule{false,
                  false,
                  false,
                  readName<Divisor>(object, "divisor", divisors),
                  readFloat(object, "least"),
                  readFloat(object, "scale")};
    const Napi::Value value = object.Get("election");
    if (value.IsNull()) return rule;
    const Napi::Object election = toObject(value, "election");
    rule.elects = true;
    rule.weighted = readBoolean(election, "weighted");
    rule.tiePositive = readName<std::size_t>(election, "tie", ties) == 1;
    return rule;
}

constexpr Reader<NodeOperation> kOperations[] = {
    {"linear",
     [](const Napi::Object& node) -> NodeOperation { return Linear{readNumbers<double>(node, "weights")}; }},
    {"rowLinear",
     [](const Napi::Object& node) -> NodeOperation {
         return RowLinear{readRows(node), readVector<double>(node, "weights")};
     }},
    {"keep",
     [](const Napi::Object& node) -> NodeOperation {
         return Keep{readBound(node, "lower"), readBound(node, "upper"), readFloat(node, "scale")};
     }},
    {"drop",
     [](const Napi::Object& node) -> NodeOperation {
         return Drop{readWord64(node, "key"), readNumber(node, "probability"), readFloat(node, "scale")};
     }},
    {"dropRanked",
     [](const Napi::Object& node) -> NodeOperation {
         return DropRanked{readWord64(node, "key"), readNumber(node, "lowest"), readNumber(node, "highest"),
                           readFloat(node, "scale")};
     }},
    {"vote",
     [](const Napi::Object& node) -> NodeOperation {
         return Vote{readVoteRule(node), readNumbers<float>(node, "weights")};
     }},
    {"variance", [](const Napi::Object&) -> NodeOperation { return Variance{}; }},
    {"nearSwap", [](const Napi::Object& node) -> NodeOperation { return NearSwap{readFloat(node, "t")}; }},
    {"importance",
     [](const Napi::Object& node) -> NodeOperation {
         return Importance{readVector<double>(node, "divergences")};
     }},
    {"select",
     [](const Napi::Object& node) -> NodeOperation {
         return Select{readRows(node), readVector<std::uint8_t>(node, "kept")};
     }},
};

Node toNode(const Napi::Value& value) {
    const Napi::Object object = toObject(value, "node");
    return {readKind(object, kOperations), readDType(object), readValues(object, "inputs")};
}

StoredSource toSource(const Napi::Value& value) {
    constexpr const char* slicings[] = {"elements"};
    const Napi::Object object = toObject(value, "source");
    return {toLocation(value), readDType(object), readName<Slicing>(object, "slicing", slicings)};
}

}  // namespace

Program toProgram(const Napi::Value& value) {
    const Napi::Object object = toObject(value, "program");
    return {readAll(readArray(object, "sources"), toSource), readAll(readArray(object, "nodes"), toNode),
            readInteger(object, "first"), readInteger(object, "count"), readInteger(object, "columns")};
}

}  // namespace layerloom
