#include "read.hpp"

#include <cmath>

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

Napi::Object readObject(const Napi::Object& object, const char* key) {
    return toObject(object.Get(key), key);
}

Napi::Array readArray(const Napi::Object& object, const char* key) { return toArray(object.Get(key), key); }

}  // namespace layerloom
