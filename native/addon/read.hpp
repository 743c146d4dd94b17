#pragma once
#include <napi.h>

#include <cstdint>
#include <span>
#include <string>

#include "../jobs/check.hpp"

/// Readers of JavaScript values. They throw TypeError for a wrong type and RangeError for a number out of
/// range; both name the value.
namespace layerloom {

std::uint64_t toInteger(const Napi::Value& value, const char* name, std::uint64_t most = kMostInteger);
std::size_t indexOfName(const Napi::Value& value, const char* what, std::span<const char* const> names);
double toNumber(const Napi::Value& value, const char* name);
/// Refuses NUL, which would end the path early.
std::string toPath(const Napi::Value& value, const char* name);
Napi::Object toObject(const Napi::Value& value, const char* name);
Napi::Array toArray(const Napi::Value& value, const char* name);

/// Returns the numbers of a typed array; empty if it was detached or its buffer is too short. Call it when no
/// more JavaScript runs: a getter could detach the array.
template <class Number>
std::span<Number> toSpan(const Napi::Value& value, const char* name);

std::uint64_t readInteger(const Napi::Object& object, const char* key, std::uint64_t most = kMostInteger);
double readNumber(const Napi::Object& object, const char* key);
bool readBoolean(const Napi::Object& object, const char* key);
/// Returns false if the key is absent.
bool readFlag(const Napi::Object& object, const char* key);
std::uint64_t readWord64(const Napi::Object& object, const char* key);
Napi::Object readObject(const Napi::Object& object, const char* key);
Napi::Array readArray(const Napi::Object& object, const char* key);

/// @param names in the order of the enumeration
template <class Enumeration, std::size_t count>
Enumeration readName(const Napi::Object& object, const char* key, const char* const (&names)[count]) {
    return static_cast<Enumeration>(indexOfName(object.Get(key), key, names));
}

template <class Read>
auto readAll(const Napi::Array& array, const Read& read) {
    std::vector<decltype(read(Napi::Value()))> all;
    for (std::uint32_t i = 0; i < array.Length(); ++i) all.push_back(read(array.Get(i)));
    return all;
}

template <class Number>
std::vector<Number> readNumbers(const Napi::Object& object, const char* key) {
    return readAll(readArray(object, key),
                   [key](const Napi::Value& number) { return static_cast<Number>(toNumber(number, key)); });
}

}  // namespace layerloom
