#include <algorithm>

#include "check.hpp"

namespace layerloom {
namespace {

constexpr std::size_t kMostMeasures = 4096;
constexpr std::size_t kMostValues = 4096;

void checkValue(ValueId value, const Program& program) {
    require(value < program.sources.size() + program.nodes.size() && !program.isWhole(value), "value");
}

/// Checks the length of an array of three numbers for each pair and element.
void checkValues(const std::vector<ValueId>& values, const Program& program) {
    const std::size_t count = values.size();
    require(count >= 1 && count <= kMostValues, "values");
    for (const ValueId value : values) checkValue(value, program);
    checkedLength(std::max(program.count, program.columns), 3 * count * (count + 1) / 2, "values");
}

/// Checks that the values' magnitudes are summed too, which shows whether they are finite.
void checkBesideMagnitudes(const std::vector<ValueId>& values, const Measurement& measurement) {
    const auto isOf = [](const Measure& measure, ValueId value) {
        const auto* rows = std::get_if<RowMagnitudes>(&measure);
        const auto* columns = std::get_if<ColumnMagnitudes>(&measure);
        return (rows != nullptr && rows->value == value) || (columns != nullptr && columns->value == value);
    };
    for (const ValueId value : values)
        require(std::ranges::any_of(measurement.measures,
                                    [&](const Measure& measure) { return isOf(measure, value); }),
                "values");
}

void check(const Gram& gram, const Measurement& of) { checkValues(gram.values, of.program); }
void check(const RowGram& gram, const Measurement& of) { checkValues(gram.values, of.program); }
void check(const ColumnGram& gram, const Measurement& of) { checkValues(gram.values, of.program); }
void check(const Magnitudes& magnitudes, const Measurement& of) { checkValue(magnitudes.value, of.program); }
void check(const RowMagnitudes& magnitudes, const Measurement& of) {
    checkValue(magnitudes.value, of.program);
}
void check(const ColumnMagnitudes& magnitudes, const Measurement& of) {
    checkValue(magnitudes.value, of.program);
}

void check(const ColumnSums& sums, const Measurement& of) { checkValue(sums.value, of.program); }

void check(const Overlaps& overlaps, const Measurement& of) {
    checkValues(overlaps.values, of.program);
    checkBesideMagnitudes(overlaps.values, of);
}

void check(const NonFinite& what, const Measurement& of) {
    checkValue(what.base, of.program);
    checkValues(what.experts, of.program);
    checkValues(what.differences, of.program);
    require(what.experts.size() == what.differences.size(), "differences");
    checkBesideMagnitudes(what.differences, of);
}

/// Checks that every magnitude of the window has a bin, and that candidates are in the window.
void check(const Histogram& histogram, const Measurement& of) {
    const auto& [low, last, shift, candidates, wanted] = histogram.window;
    checkValue(histogram.value, of.program);
    require(low >= 1 && last + 1 >= low, "window");
    require(last < low || (last - low) >> shift < histogram.counts.size(), "counts");
    for (std::size_t c = 0; c < wanted; ++c)
        require(candidates[c] >= low && candidates[c] <= last, "candidates");
}

void check(const CountAlone& what, const Measurement& of) {
    checkValues(what.values, of.program);
    require(what.values.size() <= kMostChanges, "values");
}

void check(const CountMagnitude& what, const Measurement& of) { checkValue(what.value, of.program); }

void check(const FindMagnitude& what, const Measurement& of) {
    checkValue(what.value, of.program);
    require(what.ordinal >= 1, "ordinal");
}

void check(const Divergence& divergence, const Measurement& of) {
    checkValue(divergence.value, of.program);
    checkValue(divergence.base, of.program);
}

void check(const Signs& signs, const Measurement& of) { checkValue(signs.value, of.program); }

/// Requires equal dtypes to compare bits, and no other measure over the block.
void check(const Difference& difference, const Measurement& of) {
    checkValue(difference.a, of.program);
    checkValue(difference.b, of.program);
    require(difference.numbers || of.program.dtypeOf(difference.a) == of.program.dtypeOf(difference.b), "b");
    require(of.measures.size() == 1, "measures");
}

}  // namespace

void check(const Measurement& measurement, std::span<const std::span<double>> out) {
    const auto& [program, measures] = measurement;
    check(program);
    require(program.first % program.columns == 0 && program.count % program.columns == 0, "program");
    require(!measures.empty() && measures.size() <= kMostMeasures, "measures");
    require(out.size() == measures.size(), "out");
    for (std::size_t m = 0; m < measures.size(); ++m) {
        std::visit([&](const auto& one) { check(one, measurement); }, measures[m]);
        require(tilingOf(measures[m]) == tilingOf(measures.front()), "measures");
        require(out[m].size() == sizeOf(measures[m], program), "out");
    }
}

}  // namespace layerloom
