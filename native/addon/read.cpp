#include "read.hpp"

#include <cmath>
#include <string_view>

namespace layerloom {
namespace {

[[noreturn]] void refuseType(const Napi::Value& value, const char* name, const char* expected) {
    throw Napi::TypeError::New(value.Env(), std::string(name) + " is not " + expected);
}

template <class Number>
struct TypedArray;

template <>
struct TypedArray<std::uint8_t> {
    static constexpr napi_typedarray_type type = napi_uint8_array;
    static constexpr const char* name = "a Uint8Array";
};

template <>
struct TypedArray<std::uint32_t> {
    static constexpr napi_typedarray_type type = napi_uint32_array;
    static constexpr const char* name = "a Uint32Array";
};

template <>
struct TypedArray<std::int64_t> {
    static constexpr napi_typedarray_type type = napi_bigint64_array;
    static constexpr const char* name = "a BigInt64Array";
};

template <>
struct TypedArray<double> {
    static constexpr napi_typedarray_type type = napi_float64_array;
    static constexpr const char* name = "a Float64Array";
};

}  // namespace

std::uint64_t toInteger(const Napi::Value& value, const char* name, std::uint64_t most) {
    const double number = toNumber(value, name);
    if (!(number >= 0 && number <= static_cast<double>(most) && number == std::floor(number)))
        throw Napi::RangeError::New(
            value.Env(), std::string(name) + " is not an integer from 0 to " + std::to_string(most));
    return static_cast<std::uint64_t>(number);
}

double toNumber(const Napi::Value& value, const char* name) {
    if (!value.IsNumber()) refuseType(value, name, "a number");
    return value.As<Napi::Number>().DoubleValue();
}

std::size_t indexOfName(const Napi::Value& value, const char* what, std::span<const char* const> names) {
    if (!value.IsString()) refuseType(value, what, "a string");
    // Truncates a longer name, which then equals no valid one.
    char text[32];
    std::size_t length = 0;
    napi_get_value_string_utf8(value.Env(), value, text, sizeof text, &length);
    const std::string_view name(text, length);
    for (std::size_t i = 0; i < names.size(); ++i)
        if (name == names[i]) return i;
    throw Napi::RangeError::New(value.Env(), std::string(what) + " has no such name");
}

std::string toPath(const Napi::Value& value, const char* name) {
    if (!value.IsString()) refuseType(value, name, "a string");
    std::string path = value.As<Napi::String>();
    if (path.find('\0') != std::string::npos)
        throw Napi::RangeError::New(value.Env(), std::string(name) + " has a NUL character");
    return path;
}

Napi::Object toObject(const Napi::Value& value, const char* name) {
    if (!value.IsObject()) refuseType(value, name, "an object");
    return value.As<Napi::Object>();
}

Napi::Array toArray(const Napi::Value& value, const char* name) {
    if (!value.IsArray()) refuseType(value, name, "an array");
    return value.As<Napi::Array>();
}

template <class Number>
std::span<Number> toSpan(const Napi::Value& value, const char* name) {
    using Array = TypedArray<Number>;
    napi_typedarray_type type;
    std::size_t length = 0;
    void* data = nullptr;
    if (!value.IsTypedArray() ||
        napi_get_typedarray_info(value.Env(), value, &type, &length, &data, nullptr, nullptr) != napi_ok ||
        type != Array::type)
        refuseType(value, name, Array::name);
    return {static_cast<Number*>(data), length};
}

template std::span<std::uint8_t> toSpan(const Napi::Value&, const char*);
template std::span<std::uint32_t> toSpan(const Napi::Value&, const char*);
template std::span<std::int64_t> toSpan(const Napi::Value&, const char*);
template std::span<double> toSpan(const Napi::Value&, const char*);

std::uint64_t readInteger(const Napi::Object& object, const char* key, std::uint64_t most) {
    return toInteger(object.Get(key), key, most);
}

double readNumber(const Napi::Object& object, const char* key) { return toNumber(object.Get(key), key); }

bool readBoolean(const Napi::Object& object, const char* key) {
    const Napi::Value value = object.Get(key);
    if (!value.IsBoolean()) refuseType(value, key, "a boolean");
    return value.As<Napi::Boolean>();
}

bool readFlag(const Napi::Object& object, const char* key) {
    return !object.Get(key).IsUndefined() && readBoolean(object, key);
}

std::uint64_t readWord64(const Napi::Object& object, const char* key) {
    const Napi::Value value = object.Get(key);
    if (!value.IsBigInt()) refuseType(value, key, "a big integer");
    bool isWord = false;
    const std::uint64_t word = value.As<Napi::BigInt>().Uint64Value(&isWord);
    if (!isWord) throw Napi::RangeError::New(value.Env(), std::string(key) + " is not of 64 bits");
    return word;
}

Napi::Object readObject(const Napi::Object& object, const char* key) {
    return toObject(object.Get(key), key);
}

Napi::Array readArray(const Napi::Object& object, const char* key) { return toArray(object.Get(key), key); }

}  // namespace layerloom
