#include "decode.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace layerloom {
namespace {

std::vector<Location> readLocations(const Napi::Object& object, const char* key) {
    return readAll(readArray(object, key), toLocation);
}

Output toOutput(const Napi::Value& value) {
    const Napi::Object object = toObject(value, "output");
    return {readValue(object, "value"), toLocation(value), readDType(object), readFlag(object, "scales")};
}

constexpr Reader<Job> kJobs[] = {
    {"copy",
     [](const Napi::Object& job) -> Job {
         return Copy{toLocation(job.Get("source")), toLocation(job.Get("to")), readInteger(job, "first"),
                     readInteger(job, "count")};
     }},
    {"same",
     [](const Napi::Object& job) -> Job {
         return Same{readLocations(job, "sources"), toLocation(job.Get("to")), readInteger(job, "first"),
                     readInteger(job, "count")};
     }},
    {"compute",
     [](const Napi::Object& job) -> Job {
         const Napi::Value tally = job.Get("tally");
         return Compute{toProgram(job.Get("program")), readAll(readArray(job, "outputs"), toOutput),
                        tally.IsUndefined() ? std::span<std::int64_t>() : toSpan<std::int64_t>(tally, "tally")};
     }},
};

}  // namespace

Job toJob(const Napi::Value& value) {
    Job job = readKind(toObject(value, "job"), kJobs);
    check(job);
    return job;
}

HashCall toHashCall(const Napi::Value& ranges, const Napi::Value& states) {
    HashCall call{readAll(toArray(ranges, "ranges"),
                          [](const Napi::Value& value) -> HashedRange {
                              const Napi::Object range = toObject(value, "range");
                              const auto [fd, begin] = toLocation(range);
                              return {{fd, begin, readInteger(range, "length")},
                                      readInteger(range, "start"),
                                      readBoolean(range, "last")};
                          }),
                  {}};
    // Read last, as `toSpan` requires.
    call.states = toSpan<std::uint32_t>(states, "states");
    check(call.ranges, call.states);
    return call;
}

RemoteFile toRemoteFile(const Napi::Value& memory, const Napi::Value& parts) {
    const int fd = toDescriptor(memory);
    const std::span<const double> numbers = toSpan<double>(parts, "parts");
    require(numbers.size() % 2 == 0, "parts");
    const auto isInteger = [](double number, double least) {
        return number >= least && number <= static_cast<double>(kMostInteger) && number == std::trunc(number);
    };
    std::vector<RemotePart> all;
    for (std::size_t i = 0; i < numbers.size(); i += 2) {
        require(isInteger(numbers[i], 1) && isInteger(numbers[i + 1], 0), "parts");
        const auto bytes = static_cast<std::uint64_t>(numbers[i]);
        const auto address = static_cast<std::uint64_t>(numbers[i + 1]);
        const std::uint64_t begin = all.empty() ? 0 : all.back().end;
        require(bytes <= kMostInteger - begin && bytes <= kMostInteger - address, "parts");
        all.push_back({begin, begin + bytes, address});
    }
    return {fd, std::move(all)};
}

Control toControl(const Napi::Value& value) {
    const std::span<std::int64_t> words = toSpan<std::int64_t>(value, "control");
    if (words.size() != kControlWords) throw BadJob("control");
    return Control(words.data());
}

int toDescriptor(const Napi::Value& value) {
    return static_cast<int>(toInteger(value, "fd", std::numeric_limits<int>::max()));
}

Location toLocation(const Napi::Value& value) {
    const Napi::Object object = toObject(value, "location");
    return {toDescriptor(object.Get("fd")), readInteger(object, "begin")};
}

DType readDType(const Napi::Object& object) {
    // Names of DType's members, in the same order.
    constexpr const char* names[] = {"BF16", "F16", "F32", "F64", "F8_E4M3", "F8_E5M2"};
    static_assert(std::size(names) == kDTypes);
    return readName<DType>(object, "dtype", names);
}

Rows readRows(const Napi::Object& object) {
    constexpr const char* names[] = {"input", "output"};
    return readName<Rows>(object, "rows", names);
}

ValueId readValue(const Napi::Object& object, const char* key) { return toWord32(object.Get(key), key); }

std::vector<ValueId> readValues(const Napi::Object& object, const char* key) {
    return readAll(readArray(object, key), [key](const Napi::Value& id) { return toWord32(id, key); });
}

std::uint32_t toWord32(const Napi::Value& value, const char* name, std::uint32_t most) {
    return static_cast<std::uint32_t>(toInteger(value, name, most));
}

}  // namespace layerloom
