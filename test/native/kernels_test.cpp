// Kernels against an independent text: rounding here is by scaling and nearbyint in float64, not by bit
// tricks. Every check runs on every instruction set that this machine has, and on the float64 route.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "kernels/dispatch.hpp"
#include "kernels/linear.hpp"

using namespace layerloom;

namespace {

/// A format by its parameters. E4M3 as machine learning has it spends only the pattern of all ones on NaN.
struct Format {
    DType dtype;
    int precision;    // significant bits
    int minExponent;  // of the smallest normal number
    double largest;   // finite number
    bool hasInfinity;
};

double largestOf(int precision, int maxExponent) {
    return std::ldexp(2.0 - std::ldexp(1.0, 1 - precision), maxExponent);
}

const Format kFormats[] = {
    {DType::BF16, 8, -126, largestOf(8, 127), true},
    {DType::F16, 11, -14, largestOf(11, 15), true},
    {DType::F32, 24, -126, largestOf(24, 127), true},
    {DType::F64, 53, -1022, largestOf(53, 1023), true},
    {DType::F8_E4M3, 4, -6, 448, false},
    {DType::F8_E5M2, 3, -14, largestOf(3, 15), true},
};

const Format& formatOf(DType dtype) { return kFormats[static_cast<int>(dtype)]; }

/// Nearest representable value, ties to even; beyond the largest, infinity or else NaN.
double roundTo(const Format& format, double x) {
    if (x == 0 || std::isnan(x)) return x;
    const double beyond = format.hasInfinity ? std::copysign(std::numeric_limits<double>::infinity(), x)
                                             : std::numeric_limits<double>::quiet_NaN();
    if (std::isinf(x)) return beyond;
    int exponent;
    std::frexp(x, &exponent);  // |x| in [2^(exponent-1), 2^exponent)
    const int unit = std::max(exponent - 1, format.minExponent) - (format.precision - 1);
    const double rounded = std::ldexp(std::nearbyint(std::ldexp(x, -unit)), unit);
    return std::fabs(rounded) > format.largest ? beyond : rounded;
}

/// The value of stored bits, by arithmetic.
double decode(const Format& format, std::uint64_t bits) {
    if (format.dtype == DType::F64) {
        double x;
        std::memcpy(&x, &bits, 8);
        return x;
    }
    const int width = static_cast<int>(8 * sizeOf(format.dtype));
    const int fraction = format.precision - 1;
    const std::uint64_t magnitude = bits & ((1ull << (width - 1)) - 1);
    const std::uint64_t mantissa = bits & ((1ull << fraction) - 1);
    const std::uint64_t biased = magnitude >> fraction;
    const std::uint64_t allOnes = (1ull << (width - 1 - fraction)) - 1;
    const double sign = (bits >> (width - 1)) != 0 ? -1.0 : 1.0;
    if (format.hasInfinity ? biased == allOnes && mantissa != 0 : magnitude == (1ull << (width - 1)) - 1)
        return std::numeric_limits<double>::quiet_NaN();
    if (format.hasInfinity && biased == allOnes) return sign * std::numeric_limits<double>::infinity();
    if (biased == 0) return sign * std::ldexp(static_cast<double>(mantissa), format.minExponent - fraction);
    return sign * std::ldexp(static_cast<double>(mantissa | (1ull << fraction)),
                             static_cast<int>(biased) - 1 + format.minExponent - fraction);
}

std::uint64_t encode(const Format& format, double x) {
    if (format.dtype == DType::F64) {
        if (std::isnan(x)) return 0x7FF8'0000'0000'0000ull;
        std::uint64_t bits;
        std::memcpy(&bits, &x, 8);
        return bits;
    }
    const int width = static_cast<int>(8 * sizeOf(format.dtype));
    const int fraction = format.precision - 1;
    const std::uint64_t allOnes = (1ull << (width - 1 - fraction)) - 1;
    if (std::isnan(x))
        return format.hasInfinity ? allOnes << fraction | 1ull << (fraction - 1) : (1ull << (width - 1)) - 1;
    const std::uint64_t sign = std::signbit(x) ? 1ull << (width - 1) : 0;
    x = std::fabs(x);
    if (std::isinf(x)) return sign | allOnes << fraction;
    if (x < std::ldexp(1.0, format.minExponent))
        return sign | static_cast<std::uint64_t>(std::ldexp(x, fraction - format.minExponent));
    int exponent;
    const double significand = 2 * std::frexp(x, &exponent);
    const auto biased = static_cast<std::uint64_t>(exponent - 1 - format.minExponent + 1);
    return sign | biased << fraction | static_cast<std::uint64_t>(std::ldexp(significand - 1, fraction));
}

std::uint64_t bitsAt(const std::vector<std::byte>& bytes, std::size_t offset, DType dtype, std::size_t i) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + offset + i * sizeOf(dtype), sizeOf(dtype));
    return bits;
}

long checks = 0;
long failures = 0;

void expect(bool ok, const char* isa, const char* what, std::uint64_t expected, std::uint64_t actual) {
    ++checks;
    if (ok) return;
    if (++failures <= 20)
        std::printf("FAILED %s: %s: expected %016llx, got %016llx\n", isa, what,
                    static_cast<unsigned long long>(expected), static_cast<unsigned long long>(actual));
}

struct Input {
    DType dtype;
    double weight;
    std::vector<std::byte> bytes;
    std::size_t offset;  // misalignment
};

/// Every element of Σ weight · input, as the contract words it.
std::vector<std::uint64_t> expected(const std::vector<Input>& inputs, DType sink, std::size_t count) {
    bool wide = sink == DType::F64;
    for (const Input& input : inputs) wide = wide || input.dtype == DType::F64;
    const Format& working = formatOf(wide ? DType::F64 : DType::F32);
    std::vector<std::uint64_t> bits(count);
    for (std::size_t i = 0; i < count; ++i) {
        double sum = 0;
        for (std::size_t t = 0; t < inputs.size(); ++t) {
            const double x = decode(formatOf(inputs[t].dtype),
                                    bitsAt(inputs[t].bytes, inputs[t].offset, inputs[t].dtype, i));
            // A float64 product of two float32 is exact, and so is rounding their sum twice (2·24 + 2 ≤ 53).
            volatile double product = roundTo(working, roundTo(working, inputs[t].weight) * x);
            volatile double next = t == 0 ? product : roundTo(working, sum + product);
            sum = next;
        }
        bits[i] = encode(formatOf(sink), roundTo(formatOf(sink), sum));
    }
    return bits;
}

void check(const std::vector<Input>& inputs, DType sink, std::size_t count, std::size_t sinkOffset,
           const char* what) {
    const std::vector<std::uint64_t> want = expected(inputs, sink, count);
    for (const Kernels* kernels : availableKernels()) {
        constexpr std::byte kUntouched{0xA5};
        std::vector<std::byte> out(sinkOffset + count * sizeOf(sink) + 64, kUntouched);
        std::vector<Source> sources;
        std::vector<double> weights;
        for (const Input& input : inputs) {
            sources.push_back({input.bytes.data() + input.offset, input.dtype});
            weights.push_back(input.weight);
        }
        linear(*kernels, sources, weights, {out.data() + sinkOffset, sink}, count);
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint64_t got = bitsAt(out, sinkOffset, sink, i);
            expect(got == want[i], kernels->isa, what, want[i], got);
        }
        for (std::size_t i = 0; i < sinkOffset; ++i)
            expect(out[i] == kUntouched, kernels->isa, "wrote before its sink", 0, 0);
        for (std::size_t i = sinkOffset + count * sizeOf(sink); i < out.size(); ++i)
            expect(out[i] == kUntouched, kernels->isa, "wrote behind its sink", 0, 0);
    }
}

std::mt19937_64 random_{20410};

/// Any bits at all: infinities, NaN, subnormals and zeros among them.
Input anyBits(DType dtype, double weight, std::size_t count, std::size_t offset) {
    Input input{dtype, weight, std::vector<std::byte>(offset + count * sizeOf(dtype)), offset};
    for (std::byte& b : input.bytes) b = static_cast<std::byte>(random_() & 0xFF);
    return input;
}

/// Numbers of like size, whose sums round in every place, with zeros and specials strewn in.
Input likeWeights(DType dtype, double weight, std::size_t count, std::size_t offset) {
    Input input{dtype, weight, std::vector<std::byte>(offset + count * sizeOf(dtype)), offset};
    std::normal_distribution<double> normal(0, 0.02);
    for (std::size_t i = 0; i < count; ++i) {
        const double x = random_() % 50 == 0 ? -0.0 : roundTo(formatOf(dtype), normal(random_));
        const std::uint64_t bits = encode(formatOf(dtype), x);
        std::memcpy(input.bytes.data() + offset + i * sizeOf(dtype), &bits, sizeOf(dtype));
    }
    return input;
}

constexpr DType kAll[] = {DType::BF16, DType::F16, DType::F32, DType::F64, DType::F8_E4M3, DType::F8_E5M2};

constexpr DType kShort[] = {DType::BF16, DType::F16, DType::F8_E4M3, DType::F8_E5M2};

std::uint64_t patterns(DType dtype) { return 1ull << (8 * sizeOf(dtype)); }

void everyPatternOfAFormat() {
    for (const DType from : kShort) {
        const std::size_t width = sizeOf(from);
        Input input{from, 1, std::vector<std::byte>(patterns(from) * width), 0};
        for (std::uint64_t bits = 0; bits < patterns(from); ++bits)
            std::memcpy(input.bytes.data() + width * bits, &bits, width);
        for (const DType to : kAll)
            check({input}, to, patterns(from), 0, "every pattern of a format, converted");
    }
}

void halfwayCases() {
    for (const DType to : kShort) {
        Input f32{DType::F32, 1, {}, 0};
        Input f64{DType::F64, 1, {}, 0};
        const Format& format = formatOf(to);
        const auto add = [&](double value) {
            const auto narrow = static_cast<float>(value);
            const auto* n = reinterpret_cast<const std::byte*>(&narrow);
            const auto* w = reinterpret_cast<const std::byte*>(&value);
            f32.bytes.insert(f32.bytes.end(), n, n + 4);
            f64.bytes.insert(f64.bytes.end(), w, w + 8);
        };
        for (std::uint64_t bits = 0; bits + 1 < patterns(to); ++bits) {
            const double x = decode(format, bits);
            const double next = decode(format, bits + 1);
            if (!std::isfinite(x) || !std::isfinite(next) || std::signbit(x) != std::signbit(next)) continue;
            const double halfway = x + (next - x) / 2;
            for (const double value :
                 {halfway, std::nextafter(halfway, -1e300), std::nextafter(halfway, 1e300)})
                add(value);
        }
        // The end of the range: halfway to where the next number would be, and around it.
        const double step =
            format.largest - roundTo(format, format.largest * (1 - std::ldexp(1.0, -format.precision)));
        const double end = format.largest + step / 2;
        for (const double value :
             {end, std::nextafter(end, 0), std::nextafter(end, 1e300), 4 * format.largest}) {
            add(value);
            add(-value);
        }
        check({f32}, to, f32.bytes.size() / 4, 0, "halfway between two values, from float32");
        check({f64}, to, f64.bytes.size() / 8, 0, "around halfway between two values, from float64");
    }
}

void lengthsAndMisalignments() {
    for (const std::size_t count :
         {0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 63, 65, 100, 2047, 2048, 2049, 4099})
        for (const std::size_t offset : {0, 1, 2, 3, 5})
            for (const DType dtype : kAll)
                check({likeWeights(dtype, 0.5, count, offset), likeWeights(dtype, 0.5, count, offset + 1)},
                      dtype, count, offset, "average over lengths and misalignments");
}

void everyMixtureOfDtypes() {
    constexpr double kWeights[] = {0.7, 0.3, -1.25, 1e-3};
    for (const DType first : kAll)
        for (const DType second : kAll)
            for (const DType sink : kAll) {
                check({anyBits(first, kWeights[0], 4099, 1), anyBits(second, kWeights[1], 4099, 0)}, sink,
                      4099, 2, "any bits, mixed dtypes");
                check({likeWeights(first, kWeights[0], 4099, 0), likeWeights(second, kWeights[1], 4099, 1),
                       likeWeights(first, kWeights[2], 4099, 3), likeWeights(second, kWeights[3], 4099, 0)},
                      sink, 4099, 1, "four terms, mixed dtypes");
            }
}

void negativeZeroSurvives() {
    for (const DType dtype : kAll) {
        Input zero{dtype, 0.5, std::vector<std::byte>(64 * sizeOf(dtype)), 0};
        const std::uint64_t bits = encode(formatOf(dtype), -0.0);
        for (std::size_t i = 0; i < 64; ++i)
            std::memcpy(zero.bytes.data() + i * sizeOf(dtype), &bits, sizeOf(dtype));
        check({zero, zero}, dtype, 64, 0, "the average of −0 and −0");
        check({zero}, dtype, 64, 0, "−0 scaled");
    }
}

/// Sums in plain loops, in the order that the contract names.
void reductions() {
    std::normal_distribution<float> normal(0, 1e-5f);
    for (const std::size_t count : {0, 1, 5, 15, 16, 17, 31, 32, 33, 100, 1000, 4096}) {
        std::vector<float> x(count), y(count);
        for (std::size_t i = 0; i < count; ++i) {
            x[i] = random_() % 5 == 0 ? (random_() % 2 == 0 ? 0.0f : -0.0f) : normal(random_);
            y[i] = random_() % 5 == 0 ? 1e-42f : normal(random_);
        }
        std::vector<double> columns(count, 0.125);
        double lanes[kLanes] = {1, 2, 3}, products[kLanes] = {};
        std::uint64_t counts[2] = {7, 3};
        for (std::size_t i = 0; i < count; ++i) {
            columns[i] += std::fabs(static_cast<double>(x[i]));
            lanes[i % kLanes] += std::fabs(static_cast<double>(x[i]));
            const float product = x[i] * y[i];
            if (product != 0) {
                counts[0] += 1;
                counts[1] += product > 0 ? 1 : 0;
            }
        }
        const std::size_t runs = count / (8 * kLanes) * (8 * kLanes);
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t lane = i % kLanes;
            if (i >= runs) {
                products[lane] += x[i] * y[i];
            } else if (i / kLanes % 8 == 0) {
                float sum = x[i] * y[i];
                for (std::size_t run = 1; run < 8; ++run) {
                    const float product = x[i + run * kLanes] * y[i + run * kLanes];
                    sum = sum + product;
                }
                products[lane] += sum;
            }
        }
        for (const Kernels* kernels : availableKernels()) {
            std::vector<double> gotColumns(count, 0.125);
            double gotLanes[kLanes] = {1, 2, 3}, gotProducts[kLanes] = {};
            std::uint64_t gotCounts[2] = {7, 3};
            kernels->addMagnitudes(x.data(), gotColumns.data(), count);
            kernels->sumMagnitudes(x.data(), gotLanes, count);
            kernels->dot(x.data(), y.data(), gotProducts, count);
            kernels->compareSigns(x.data(), y.data(), gotCounts, count);
            const bool same = std::memcmp(gotColumns.data(), columns.data(), 8 * count) == 0 &&
                              std::memcmp(gotLanes, lanes, sizeof lanes) == 0 &&
                              std::memcmp(gotProducts, products, sizeof products) == 0 &&
                              std::memcmp(gotCounts, counts, sizeof counts) == 0;
            ++checks;
            if (!same) {
                ++failures;
                std::printf("%s: sums over %zu elements\n", kernels->isa, count);
            }
        }
    }
}

}  // namespace

int main() {
    everyPatternOfAFormat();
    halfwayCases();
    lengthsAndMisalignments();
    everyMixtureOfDtypes();
    negativeZeroSurvives();
    reductions();
    for (const Kernels* kernels : availableKernels()) std::printf("%s ", kernels->isa);
    std::printf("%ld checks, %ld failed\n", checks, failures);
    return failures == 0 ? 0 : 1;
}
