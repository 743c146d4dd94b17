#pragma once
#include <napi.h>

#include "../jobs/check.hpp"

/// Jobs as JavaScript gives them (src/native/addon.ts has their types), decoded and checked: once, here. What
/// is behind it trusts them. All throw TypeError, RangeError or BadJob.
namespace layerloom {

Job toJob(const Napi::Value& value);

/// What one call adds up, and the caller's arrays that it goes to.
struct ReductionCall {
    Reduction reduction;
    Sums sums;
};

ReductionCall toReductionCall(const Napi::Value& reduction, const Napi::Value& sums);

struct MeasureCall {
    Measure measure;
    std::span<double> out;
    std::span<std::uint32_t> counts;
};

MeasureCall toMeasureCall(const Napi::Value& measure, const Napi::Value& out, const Napi::Value& counts);

/// Last of all: see `toSpan` in read.hpp.
Control toControl(const Napi::Value& value);

int toDescriptor(const Napi::Value& value);

}  // namespace layerloom
