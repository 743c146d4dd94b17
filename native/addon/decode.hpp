#pragma once
#include <napi.h>

#include "../jobs/check.hpp"
#include "../jobs/solve.hpp"
#include "read.hpp"

/// Decodes and checks jobs from JavaScript (src/core/native/job.ts, measure.ts and solve.ts). Later code
/// trusts them. All functions throw TypeError, RangeError or BadJob.
namespace layerloom {

Job toJob(const Napi::Value& value);

/// Does not check the result.
Program toProgram(const Napi::Value& value);

/// A measurement, and the caller's array for the results of each measure.
struct MeasureCall {
    Measurement measurement;
    std::vector<std::span<double>> out;
};

MeasureCall toMeasureCall(const Napi::Value& measurement, const Napi::Value& out);

struct SolverCall {
    Solver solver;
    std::span<double> out;
};

SolverCall toSolverCall(const Napi::Value& solver, const Napi::Value& out);

struct HashCall {
    std::vector<HashedRange> ranges;
    std::span<std::uint32_t> states;
};

HashCall toHashCall(const Napi::Value& ranges, const Napi::Value& states);

/// @param memory descriptor of `/proc/PID/mem`
/// @param parts pairs of a number of bytes and their address
RemoteFile toRemoteFile(const Napi::Value& memory, const Napi::Value& parts);

/// Call it last; `toSpan` in read.hpp says why.
Control toControl(const Napi::Value& value);

int toDescriptor(const Napi::Value& value);

Location toLocation(const Napi::Value& value);

DType readDType(const Napi::Object& object);
Rows readRows(const Napi::Object& object);
ValueId readValue(const Napi::Object& object, const char* key);
std::vector<ValueId> readValues(const Napi::Object& object, const char* key);
std::uint32_t toWord32(const Napi::Value& value, const char* name, std::uint32_t most = 0xFFFF'FFFFu);

/// Bits of the largest float32 magnitude.
inline constexpr std::uint32_t kMostMagnitude = 0x7FFF'FFFF;

template <class Variant>
struct Reader {
    const char* kind;
    Variant (*read)(const Napi::Object&);
};

/// Reads the alternative that an object's `kind` names.
template <class Variant, std::size_t count>
Variant readKind(const Napi::Object& object, const Reader<Variant> (&readers)[count]) {
    static_assert(count == std::variant_size_v<Variant>, "a kind has no reader");
    const char* kinds[count];
    for (std::size_t i = 0; i < count; ++i) kinds[i] = readers[i].kind;
    return readers[indexOfName(object.Get("kind"), "kind", kinds)].read(object);
}

}  // namespace layerloom
