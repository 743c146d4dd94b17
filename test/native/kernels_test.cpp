// Kernels against independent code: rounding here is by scaling and nearbyint in float64, not by bit tricks.
// Every check runs on every instruction set of this machine, and on the float64 route.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>
#include <random>
#include <span>
#include <utility>
#include <vector>

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "kernels/dispatch.hpp"
#include "kernels/linear.hpp"

using namespace layerloom;

namespace {

/// A format by its parameters. The E4M3 of machine learning has only the all-ones pattern as NaN.
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
            // A float64 product of two float32 is exact, and rounding their sum twice is too (2·24 + 2 ≤ 53).
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
        const bool isFinite = linear(*kernels, sources, weights, {out.data() + sinkOffset, sink}, count);
        const bool wantFinite = std::ranges::all_of(
            want, [&](std::uint64_t bits) { return std::isfinite(decode(formatOf(sink), bits)); });
        expect(isFinite == wantFinite, kernels->isa, "whether sums are finite", wantFinite, isFinite);
        const bool areFinite =
            kernels->isFinite[static_cast<std::size_t>(sink)](out.data() + sinkOffset, count);
        expect(areFinite == wantFinite, kernels->isa, "whether elements are finite", wantFinite, areFinite);
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

/// Any bits: including infinities, NaN, subnormals and zeros.
Input anyBits(DType dtype, double weight, std::size_t count, std::size_t offset) {
    Input input{dtype, weight, std::vector<std::byte>(offset + count * sizeOf(dtype)), offset};
    for (std::byte& b : input.bytes) b = static_cast<std::byte>(random_() & 0xFF);
    return input;
}

/// Numbers of similar size, whose sums round at every position, with some zeros and specials.
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
        const auto add = [](Input& input, auto value) {
            const auto* bytes = reinterpret_cast<const std::byte*>(&value);
            input.bytes.insert(input.bytes.end(), bytes, bytes + sizeof value);
        };
        // A value and its neighbours, in either precision.
        const auto addAround = [&](double value) {
            const auto narrow = static_cast<float>(value);
            for (const double towards : {-1e300, value, 1e300}) {
                add(f64, std::nextafter(value, towards));
                add(f32,
                    towards == value ? narrow : std::nextafter(narrow, std::copysign(INFINITY, towards)));
            }
        };
        for (std::uint64_t bits = 0; bits + 1 < patterns(to); ++bits) {
            const double x = decode(format, bits);
            const double next = decode(format, bits + 1);
            if (!std::isfinite(x) || !std::isfinite(next) || std::signbit(x) != std::signbit(next)) continue;
            addAround(x + (next - x) / 2);
        }
        // The end of the range: halfway to the next number after it, and around.
        const double step =
            format.largest - roundTo(format, format.largest * (1 - std::ldexp(1.0, -format.precision)));
        for (const double value : {format.largest + step / 2, 4 * format.largest}) {
            addAround(value);
            addAround(-value);
        }
        check({f32}, to, f32.bytes.size() / 4, 0, "around halfway between two values, from float32");
        check({f64}, to, f64.bytes.size() / 8, 0, "around halfway between two values, from float64");
    }
}

/// Every float32 of eight significant bits and its neighbours: includes all values at which one-byte formats
/// change rounding.
void everyUpperHalfOfAFloat32() {
    Input f32{DType::F32, 1, {}, 0};
    for (std::uint32_t upper = 0; upper < 1u << 16; ++upper)
        for (const std::uint32_t lower : {0u, 1u, 0xFFFFu}) {
            const std::uint32_t bits = upper << 16 | lower;
            const auto* bytes = reinterpret_cast<const std::byte*>(&bits);
            f32.bytes.insert(f32.bytes.end(), bytes, bytes + 4);
        }
    for (const DType to : {DType::F8_E4M3, DType::F8_E5M2})
        check({f32}, to, f32.bytes.size() / 4, 0, "every upper half of a float32, rounded");
}

#ifdef __x86_64__
/// x86 flags computations with subnormals, which are a hundred times slower. Subnormals of small formats are normal
/// numbers in float32.
void noSubnormalIsComputedWith() {
    for (const DType from : {DType::F16, DType::F8_E4M3, DType::F8_E5M2}) {
        Input every{from, 0.5, std::vector<std::byte>(patterns(from) * sizeOf(from)), 0};
        for (std::uint64_t bits = 0; bits < patterns(from); ++bits)
            std::memcpy(every.bytes.data() + sizeOf(from) * bits, &bits, sizeOf(from));
        const Source sources[] = {{every.bytes.data(), from}, {every.bytes.data(), from}};
        const double weights[] = {0.5, 0.25};
        for (const DType to : {from, DType::F32})
            for (const Kernels* kernels : availableKernels()) {
                std::vector<std::byte> out(patterns(from) * sizeOf(to));
                for (std::size_t terms = 1; terms <= 2; ++terms) {
                    _MM_SET_EXCEPTION_STATE(0);
                    linear(*kernels, {sources, terms}, {weights, terms}, {out.data(), to}, patterns(from));
                    const unsigned state = _MM_GET_EXCEPTION_STATE();
                    expect((state & _MM_EXCEPT_DENORM) == 0, kernels->isa, "computed with a subnormal", 0,
                           state);
                }
            }
    }
}
#endif

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

/// A kernel's tile of float32.
struct TestTile {
    std::vector<float> x;
    std::vector<std::uint64_t> nonZero, negative;
    SignedTile tile;

    TestTile(const Kernels& kernels, std::span<const float> from)
        : TestTile(kernels, from.size()) {
        const auto* const source = reinterpret_cast<const std::byte*>(from.data());
        const float one = 1;
        kernels.signedTile[static_cast<std::size_t>(DType::F32)]({&source, &one, 1}, tile, from.size());
    }

    TestTile(const Terms& terms, std::size_t dtype, const Kernels& kernels, std::size_t count)
        : TestTile(kernels, count) {
        kernels.signedTile[dtype](terms, tile, count);
    }

    /// True if the words have the elements' signs, and no further bits.
    bool tellsSigns() const {
        std::vector<std::uint64_t> isNonZero(nonZero.size()), isNegative(nonZero.size());
        for (std::size_t i = 0; i < x.size(); ++i) {
            isNonZero[i / kInWord] |= std::uint64_t{x[i] != 0} << i % kInWord;
            isNegative[i / kInWord] |= std::uint64_t{std::signbit(x[i])} << i % kInWord;
        }
        const std::size_t words = (x.size() + kInWord - 1) / kInWord;
        return std::equal(isNonZero.begin(), isNonZero.begin() + words, nonZero.begin()) &&
               std::equal(isNegative.begin(), isNegative.begin() + words, negative.begin());
    }

  private:
    TestTile(const Kernels&, std::size_t count)
        : x(count),
          nonZero(count / kInWord + 1, ~0ull),
          negative(nonZero),
          tile{x.data(), nonZero.data(), negative.data(), false} {}
};

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
            double gotLanes[kLanes] = {1, 2, 3}, gotProducts[3][kLanes] = {};
            const std::byte* source = reinterpret_cast<const std::byte*>(x.data());
            const float one = 1;
            const auto f32 = static_cast<std::size_t>(DType::F32);
            kernels->columnMagnitudes[f32]({&source, &one, 1}, 1, count, gotColumns.data(), count);
            kernels->laneMagnitudes[f32]({&source, &one, 1}, nullptr, 1, 0, gotLanes, count);
            const float* const both[] = {x.data(), y.data()};
            kernels->products(both, 2, gotProducts, count);
            TestTile a(*kernels, x), b(*kernels, y);
            const SignedTile tiles[] = {a.tile, b.tile};
            std::uint64_t gotCounts[3][2] = {{0, 0}, {7, 3}, {0, 0}};
            kernels->agreements(tiles, 2, gotCounts, count);
            const bool same = std::memcmp(gotColumns.data(), columns.data(), 8 * count) == 0 &&
                              std::memcmp(gotLanes, lanes, sizeof lanes) == 0 &&
                              std::memcmp(gotProducts[1], products, sizeof products) == 0 &&
                              std::memcmp(gotCounts[1], counts, sizeof counts) == 0;
            ++checks;
            if (!same) {
                ++failures;
                std::printf("%s: sums over %zu elements\n", kernels->isa, count);
            }
        }
    }
}

/// Floats of any bits, or mostly tied small numbers: zeros of both signs, subnormals, infinities and NaN.
std::vector<float> anyFloats(std::size_t count) {
    std::vector<float> x(count);
    for (float& e : x) {
        const std::uint64_t draw = random_();
        if (draw % 4 == 0) {
            const auto bits = static_cast<std::uint32_t>(draw >> 32);
            std::memcpy(&e, &bits, sizeof e);
        } else {
            e = static_cast<float>(static_cast<int>(draw >> 8 & 15) - 7) * 0.125f;
            if (draw % 4 == 1) e = std::copysign(e * 1e-41f, draw >> 63 != 0 ? -1.0f : 1.0f);
        }
    }
    return x;
}

/// Numbers whose sums round, including zeros and exact opposites.
std::vector<float> smallFloats(std::size_t count) {
    std::normal_distribution<float> normal(0, 0.01f);
    std::vector<float> x(count);
    for (float& e : x)
        e = random_() % 3 == 0 ? static_cast<float>(static_cast<int>(random_() % 5) - 2) * 0.25f
                               : normal(random_);
    return x;
}

/// A product that depends on the order of roundings.
float timesFloat(float a, float b) {
    const volatile float product = a * b;
    return product;
}

/// Sums of magnitudes of weighted sums: of separate rows, of pieces of rows, and of any numbers. NaN have any
/// bits.
void magnitudesOfSums() {
    const float weights[] = {1, -1, 0.3f};
    const auto same = [](std::span<const double> want, std::span<const double> got) {
        for (std::size_t i = 0; i < want.size(); ++i)
            if (std::isnan(want[i]) ? !std::isnan(got[i]) : std::memcmp(&want[i], &got[i], 8) != 0)
                return false;
        return true;
    };
    for (const DType dtype : {DType::BF16, DType::F16, DType::F32, DType::F8_E4M3, DType::F8_E5M2})
        for (const std::size_t terms : {1, 2, 3})
            for (const std::size_t rows : {1, 2, 5})
                for (const std::size_t count : {0, 1, 7, 15, 16, 17, 31, 33, 63, 64, 65, 127, 130, 300})
                    for (const bool any : {false, true}) {
                        const std::size_t stride = count + random_() % 4, misaligned = random_() % 4;
                        const std::size_t elements = rows * stride;
                        std::vector<Input> inputs;
                        std::vector<const std::byte*> sources;
                        for (std::size_t t = 0; t < terms; ++t)
                            inputs.push_back((any ? anyBits : likeWeights)(dtype, 1, elements, misaligned));
                        for (const Input& input : inputs) sources.push_back(input.bytes.data() + misaligned);
                        std::vector<double> columns(count + 1, 0.125), lanes(kLanes, 0.25), firstRow(count);
                        for (std::size_t row = 0; row < rows; ++row)
                            for (std::size_t c = 0; c < count; ++c) {
                                float sum = 0;
                                for (std::size_t t = 0; t < terms; ++t) {
                                    const double x =
                                        decode(formatOf(dtype),
                                               bitsAt(inputs[t].bytes, misaligned, dtype, row * stride + c));
                                    const float product = timesFloat(weights[t], static_cast<float>(x));
                                    volatile float next = t == 0 ? product : sum + product;
                                    sum = next;
                                }
                                columns[c] += std::fabs(static_cast<double>(sum));
                                if (row > 0) continue;
                                lanes[c % kLanes] += std::fabs(static_cast<double>(sum));
                                firstRow[c] = sum;
                            }
                        const Terms of{sources.data(), weights, terms};
                        const auto at = static_cast<std::size_t>(dtype);
                        for (const Kernels* kernels : availableKernels()) {
                            // An extra element, which must stay unchanged.
                            std::vector<double> gotColumns(count + 1, 0.125), gotLanes(kLanes, 0.25);
                            kernels->columnMagnitudes[at](of, rows, stride, gotColumns.data(), count);
                            kernels->laneMagnitudes[at](of, nullptr, 1, 0, gotLanes.data(), count);
                            expect(same(columns, gotColumns), kernels->isa, "magnitudes of columns", rows,
                                   count);
                            expect(same(lanes, gotLanes), kernels->isa, "magnitudes in lanes", terms, count);
                            TestTile made(of, at, *kernels, count);
                            expect(same(firstRow, std::vector<double>(made.x.begin(), made.x.end())), kernels->isa,
                                   "elements of a tile", terms, count);
                            expect(made.tellsSigns(), kernels->isa, "signs of a tile", terms, count);
                        }
                    }
}

void addProducts(std::span<const float> x, std::span<const float> y, double (&lanes)[kLanes]) {
    constexpr std::size_t run = 8 * kLanes;
    const std::size_t whole = x.size() / run * run;
    for (std::size_t begin = 0; begin < whole; begin += run)
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            float sum = timesFloat(x[begin + lane], y[begin + lane]);
            for (std::size_t i = begin + lane + kLanes; i < begin + run; i += kLanes) {
                volatile float next = sum + timesFloat(x[i], y[i]);
                sum = next;
            }
            lanes[lane] += sum;
        }
    for (std::size_t i = whole; i < x.size(); ++i) lanes[i % kLanes] += timesFloat(x[i], y[i]);
}

/// Pairs of `count` values at any alignment: with infinities, NaN and subnormals; and only numbers, including
/// two whose product underflows to 0.
void overlaps() {
    for (const bool isPlain : {true, false})
        for (const std::size_t values : {1, 2, 3, 4, 5, 6, 7})
            for (const std::size_t count : {0, 1, 17, 63, 64, 65, 255, 257, 300, 1024}) {
                std::vector<std::vector<float>> x;
                for (std::size_t v = 0; v < values; ++v) {
                    x.push_back(isPlain ? smallFloats(count + v) : anyFloats(count + v));
                    if (isPlain && v < 2)
                        for (float& e : x[v]) e *= 1e-25f;
                }
                const auto of = [&](std::size_t v) { return std::span(x[v]).subspan(v); };
                for (const Kernels* kernels : availableKernels()) {
                    std::vector<TestTile> made;
                    std::vector<SignedTile> tiles;
                    std::vector<const float*> floats;
                    for (std::size_t v = 0; v < values; ++v) made.emplace_back(*kernels, of(v));
                    for (const TestTile& one : made) tiles.push_back(one.tile);
                    for (std::size_t v = 0; v < values; ++v) {
                        floats.push_back(of(v).data());
                        for (std::size_t i = 0; i < count; ++i) {
                            const float e = of(v)[i];
                            const bool same = std::isnan(e) ? std::isnan(made[v].x[i])
                                                            : std::memcmp(&e, &made[v].x[i], 4) == 0;
                            expect(same, kernels->isa, "element of a tile", v, i);
                        }
                        if (isPlain && count > 17)
                            expect(tiles[v].isPlain == (v > 1), kernels->isa, "a plain tile", v, count);
                    }
                    const std::size_t pairs = values * (values + 1) / 2;
                    std::vector<double> dots(pairs * kLanes);
                    std::vector<std::uint64_t> counts(2 * pairs, 5);
                    auto* const lanes = reinterpret_cast<double(*)[kLanes]>(dots.data());
                    auto* const got = reinterpret_cast<std::uint64_t(*)[2]>(counts.data());
                    kernels->products(floats.data(), values, lanes, count);
                    kernels->agreements(tiles.data(), values, got, count);
                    for (std::size_t pair = 0, i = 0; i < values; ++i)
                        for (std::size_t j = i; j < values; ++j, ++pair) {
                            double want[kLanes] = {};
                            addProducts(of(i), of(j), want);
                            for (std::size_t lane = 0; lane < kLanes; ++lane)
                                expect(std::isnan(want[lane])
                                           ? std::isnan(lanes[pair][lane])
                                           : std::memcmp(&want[lane], &lanes[pair][lane], 8) == 0,
                                       kernels->isa, "products of a pair", i, j);
                            std::uint64_t nonZero = 5, positive = 5;
                            bool hasNaN = false;
                            for (std::size_t e = 0; e < count && i != j; ++e) {
                                const float product = timesFloat(of(i)[e], of(j)[e]);
                                hasNaN |= std::isnan(product);
                                nonZero += product != 0 ? 1 : 0;
                                positive += product > 0 ? 1 : 0;
                            }
                            expect(got[pair][0] == nonZero, kernels->isa, "products that are not 0", i, j);
                            // NaN have any sign.
                            if (!hasNaN)
                                expect(got[pair][1] == positive, kernels->isa, "products above 0", i, j);
                        }
                }
            }
}

/// The comparison of two tiles by the numeric contract: lanes by i % kLanes, added in order.
void differences() {
    for (const std::size_t count : {0, 1, 31, 32, 33, 100, 1000, 1024}) {
        std::vector<float> x = anyFloats(count), y = anyFloats(count);
        for (std::size_t i = 0; i < count; ++i)
            if (random_() % 3 == 0) y[i] = random_() % 2 == 0 ? x[i] : -x[i];
        DifferenceLanes wanted{};
        DifferenceCounts counts{5, 2};
        wanted.largest[0] = 1e-3;
        wanted.absolute[1] = 0.1;
        const DifferenceLanes before = wanted;
        for (std::size_t i = 0; i < count; ++i) {
            const double a = x[i], b = y[i];
            if (!(a == b || (std::isnan(a) && std::isnan(b)))) counts.unequal += 1;
            if (!std::isfinite(a) || !std::isfinite(b)) {
                counts.nonFinite += 1;
                continue;
            }
            const std::size_t lane = i % kLanes;
            const double difference = std::fabs(a - b);
            if (difference > wanted.largest[lane]) wanted.largest[lane] = difference;
            wanted.absolute[lane] += difference;
            wanted.squares[lane] += difference * difference;
            wanted.squaresOfFirst[lane] += a * a;
        }
        for (const Kernels* kernels : availableKernels()) {
            DifferenceLanes got = before;
            DifferenceCounts gotCounts{5, 2};
            kernels->difference(x.data(), y.data(), got, gotCounts, count);
            // The larger of two zeros may have either sign.
            for (double& largest : got.largest) largest += 0;
            ++checks;
            if (std::memcmp(&got, &wanted, sizeof got) != 0 || gotCounts.unequal != counts.unequal ||
                gotCounts.nonFinite != counts.nonFinite) {
                ++failures;
                std::printf("%s: differences of %zu elements\n", kernels->isa, count);
            }
        }
    }
}

std::uint32_t magnitudeOf(float x) {
    const float magnitude = std::fabs(x);
    std::uint32_t bits;
    std::memcpy(&bits, &magnitude, sizeof bits);
    return bits;
}

/// All NaN count as equal: a later kernel makes NaN of task vectors canonical.
void same(const char* isa, const char* what, const float* expected, const float* actual, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        std::uint32_t want, got;
        std::memcpy(&want, expected + i, 4);
        std::memcpy(&got, actual + i, 4);
        expect(want == got || (std::isnan(expected[i]) && std::isnan(actual[i])), isa, what, want, got);
    }
}

constexpr std::size_t kLengths[] = {0, 1, 2, 5, 8, 15, 16, 17, 31, 33, 100, 255, 256, 257, 513, 4099};
/// In elements, so that vectors and buffers start at different offsets.
constexpr std::size_t kOffsets[] = {0, 1, 3};

/// Runs `kernel` on every instruction set, and checks the buffer on both sides of the output.
template <class Kernel>
void checkFloats(const char* what, const std::vector<float>& expected, std::size_t offset,
                 const Kernel& kernel) {
    constexpr float untouched = 12345.0f;
    for (const Kernels* kernels : availableKernels()) {
        std::vector<float> out(offset + expected.size() + 16, untouched);
        kernel(*kernels, out.data() + offset);
        same(kernels->isa, what, expected.data(), out.data() + offset, expected.size());
        for (std::size_t i = 0; i < out.size(); ++i)
            if (i < offset || i >= offset + expected.size())
                expect(out[i] == untouched, kernels->isa, "wrote beside its output", 0, 0);
    }
}

/// By the contract, larger magnitudes are above a bound, and equal magnitudes if their index is on the right side.
bool isAbove(const Bound& bound, std::uint32_t magnitude, std::uint64_t index) {
    if (magnitude != bound.bits) return magnitude > bound.bits;
    return bound.early ? index < bound.cutoff : index >= bound.cutoff;
}

void keeping(std::size_t count, std::size_t offset) {
    const std::vector<float> x = smallFloats(offset + count), key = anyFloats(offset + count);
    for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{7}, std::uint64_t{1} << 40})
        for (const bool early : {true, false}) {
            const Bound everything{0, ~std::uint64_t{0} >> 11, true}, nothing{0xFFFF'FFFFu, 0, true};
            const Bound tied{magnitudeOf(0.25f), first + count / 3, early},
                upper{magnitudeOf(0.75f), first + count / 2, !early};
            for (const auto& [low, high] : {std::pair{tied, nothing},
                                            {tied, upper},
                                            {upper, tied},
                                            {everything, tied},
                                            {everything, nothing},
                                            {nothing, nothing}}) {
                std::vector<float> want(count);
                for (std::size_t i = 0; i < count; ++i) {
                    const std::uint32_t magnitude = magnitudeOf(key[offset + i]);
                    const bool kept =
                        isAbove(low, magnitude, first + i) && !isAbove(high, magnitude, first + i);
                    want[i] = kept ? x[offset + i] * 1.7f : 0.0f;
                }
                checkFloats("keep", want, offset,
                            [&, lower = low, upperBound = high](const Kernels& k, float* out) {
                                k.keep(x.data() + offset, key.data() + offset, lower, upperBound, 1.7f, first,
                                       out, count);
                            });
            }
        }
}

/// Numbers of SplitMix64 as its author's program prints them from seed 0; at any position equal to stepping
/// there.
void chance() {
    constexpr std::uint64_t gamma = 0x9E37'79B9'7F4A'7C15ull;
    const auto next = [](std::uint64_t& state) {
        std::uint64_t z = state += gamma;
        z = (z ^ z >> 30) * 0xBF58'476D'1CE4'E5B9ull;
        z = (z ^ z >> 27) * 0x94D0'49BB'1331'11EBull;
        return z ^ z >> 31;
    };
    constexpr std::uint32_t published[] = {0xE220'A839u, 0x6E78'9E6Au, 0x06C4'5D18u, 0xF88B'B8A8u,
                                           0x1B39'896Au};
    for (const Kernels* kernels : availableKernels()) {
        std::uint32_t words[5];
        kernels->randoms(0, 0, words, 5);
        for (int i = 0; i < 5; ++i)
            expect(words[i] == published[i], kernels->isa, "SplitMix64", published[i], words[i]);
        for (const std::size_t count : kLengths)
            for (const std::uint64_t first :
                 {std::uint64_t{0}, std::uint64_t{3}, (std::uint64_t{1} << 32) - 5}) {
                std::uint64_t state = 0x0123'4567'89AB'CDEFull;
                for (std::uint64_t at = 0, rest = first; rest != 0; ++at, rest >>= 1)
                    if ((rest & 1) != 0) state += gamma << at;
                std::vector<std::uint32_t> got(count);
                kernels->randoms(0x0123'4567'89AB'CDEFull, first, got.data(), count);
                for (std::size_t i = 0; i < count; ++i) {
                    const auto want = static_cast<std::uint32_t>(next(state) >> 32);
                    expect(got[i] == want, kernels->isa, "randoms", want, got[i]);
                }
            }
    }
}

/// Scales elements whose word is at most `last`; other elements become 0. Sums of magnitudes drop elements in the same
/// way.
void dropping(std::size_t count, std::size_t offset) {
    const std::vector<float> x = anyFloats(offset + count);
    for (const std::uint64_t first : {std::uint64_t{0}, (std::uint64_t{1} << 32) - 5})
        for (const std::uint32_t last : {0u, 0x6000'0000u, 0xC000'0001u, 0xFFFF'FFFFu}) {
            const Draw draw{0x0123'4567'89AB'CDEFull * (last | 1), last};
            std::vector<float> want(count);
            double wantLanes[kLanes] = {};
            for (std::size_t i = 0; i < count; ++i) {
                std::uint64_t z = draw.key + (first + i + 1) * 0x9E37'79B9'7F4A'7C15ull;
                z = (z ^ z >> 30) * 0xBF58'476D'1CE4'E5B9ull;
                z = (z ^ z >> 27) * 0x94D0'49BB'1331'11EBull;
                const bool kept = (z ^ z >> 31) >> 32 <= last;
                want[i] = kept ? timesFloat(x[offset + i], 1.7f) : 0.0f;
                wantLanes[i % kLanes] += std::fabs(static_cast<double>(want[i]));
            }
            checkFloats("drop", want, offset, [&](const Kernels& k, float* out) {
                k.drop(x.data() + offset, draw, 1.7f, first, out, count);
            });
            for (const Kernels* kernels : availableKernels()) {
                const auto* source = reinterpret_cast<const std::byte*>(x.data() + offset);
                const float one = 1;
                double lanes[kLanes] = {};
                kernels->laneMagnitudes[static_cast<std::size_t>(DType::F32)]({&source, &one, 1}, &draw, 1.7f,
                                                                              first, lanes, count);
                for (std::size_t lane = 0; lane < kLanes; ++lane)
                    expect(lanes[lane] == wantLanes[lane] || std::isnan(wantLanes[lane]), kernels->isa,
                           "magnitudes of what a draw keeps", lane, count);
            }
        }
}

/// Limits next to an element's word.
void dropLimits() {
    constexpr std::size_t count = 300;
    const std::vector<float> x(count, 1);
    const std::uint64_t key = 0x0123'4567'89AB'CDEFull, first = 77;
    for (const Kernels* kernels : availableKernels()) {
        std::vector<std::uint32_t> words(count);
        kernels->randoms(key, first, words.data(), count);
        std::vector<float> got(count);
        for (std::size_t at = 0; at < count; ++at)
            for (const std::uint32_t last : {words[at] - 1, words[at], words[at] + 1, words[at] ^ 1}) {
                kernels->drop(x.data(), {key, last}, 1.7f, first, got.data(), count);
                for (std::size_t i = 0; i < count; ++i)
                    expect((got[i] != 0) == (words[i] <= last), kernels->isa, "a drop at its limit", last, i);
            }
    }
}

void magnitudes(std::size_t count, std::size_t offset) {
    const std::vector<float> x = anyFloats(offset + count);
    std::vector<std::uint32_t> want(count);
    MagnitudeBits bits{0, 0x7FFF'FFFFu, 0};
    for (std::size_t i = 0; i < count; ++i) {
        want[i] = magnitudeOf(x[offset + i]);
        bits.all |= want[i];
        if (want[i] != 0) bits.least = std::min(bits.least, want[i] - 1);
        bits.most = std::max(bits.most, want[i]);
    }
    for (const Kernels* kernels : availableKernels()) {
        std::vector<std::uint32_t> got(count);
        const auto [all, least, most] = kernels->magnitudes(x.data() + offset, got.data(), count);
        expect(got == want && all == bits.all && least == bits.least && most == bits.most, kernels->isa,
               "magnitudes", bits.most, most);
    }
}

void combining(std::size_t count, std::size_t offset) {
    std::vector<std::vector<float>> x, by;
    std::vector<const float*> at, weights;
    for (std::size_t t = 0; t < 3; ++t) {
        x.push_back(t == 2 ? anyFloats(offset + count) : smallFloats(offset + count));
        by.push_back(smallFloats(offset + count));
    }
    for (std::size_t t = 0; t < 3; ++t) {
        at.push_back(x[t].data() + offset);
        weights.push_back(by[t].data() + offset);
    }
    for (const std::size_t terms : {1, 2, 3}) {
        std::vector<float> variances(count), sums(count);
        for (std::size_t i = 0; i < count; ++i) {
            volatile double mean = 0, squares = 0;
            volatile float sum = 0;
            for (std::size_t t = 0; t < terms; ++t) {
                mean = mean + at[t][i];
                volatile float product = weights[t][i] * at[t][i];
                sum = t == 0 ? product : sum + product;
            }
            mean = mean / static_cast<double>(terms);
            for (std::size_t t = 0; t < terms; ++t) {
                volatile double distance = at[t][i] - mean;
                volatile double square = distance * distance;
                squares = squares + square;
            }
            variances[i] = static_cast<float>(squares / static_cast<double>(terms));
            sums[i] = sum;
        }
        checkFloats("variance", variances, offset,
                    [&](const Kernels& k, float* out) { k.variance(at.data(), terms, out, count); });
        checkFloats("linearColumns", sums, offset, [&](const Kernels& k, float* out) {
            k.linearColumns(at.data(), weights.data(), terms, out, count);
        });
    }
    for (const float t : {0.01f, 0.0f, -1.0f, 3.0f}) {
        std::vector<float> want(count);
        for (std::size_t i = 0; i < count; ++i) {
            const float a = at[0][i], b = at[1][i];
            volatile float distance = std::fabs(a - b);
            if (distance < 1e-6f) distance = 1e-6f;
            volatile float w = t / distance;
            if (w < 0) w = 0;
            if (w > 1) w = 1;
            volatile float moved = w * b, rest = 1 - w, left = rest * a;
            want[i] = moved + left;
        }
        checkFloats("nearSwap", want, offset,
                    [&](const Kernels& k, float* out) { k.nearSwap(at[0], at[1], t, out, count); });
    }
}

void averagingByImportance(std::size_t count, std::size_t offset) {
    const float by[] = {0.5f, 1.0f, 0.3f};
    std::vector<std::vector<float>> x, importances;
    std::vector<const float*> at, of;
    for (std::size_t t = 0; t < 3; ++t) {
        x.push_back(smallFloats(offset + count));
        importances.push_back(t == 1 ? smallFloats(offset + count) : anyFloats(offset + count));
        // The second has no negative values.
        if (t == 1)
            for (float& importance : importances[t]) importance = std::fabs(importance);
    }
    for (std::size_t t = 0; t < 3; ++t) {
        at.push_back(x[t].data() + offset);
        of.push_back(importances[t].data() + offset);
    }
    const auto check = [&](std::size_t first, std::size_t terms, float eps) {
        std::vector<float> want(count);
        for (std::size_t i = 0; i < count; ++i) {
            volatile float sum = 0, divisor = 0;
            bool negative = false;
            for (std::size_t t = first; t < first + terms; ++t) {
                negative = negative || of[t][i] < 0;
                volatile float raised = of[t][i] + eps;
                volatile float weight = by[t] * raised;
                volatile float product = weight * at[t][i];
                sum = t == first ? product : sum + product;
                divisor = t == first ? weight : divisor + weight;
            }
            want[i] = negative ? std::numeric_limits<float>::quiet_NaN() : sum / divisor;
        }
        checkFloats("fisher", want, offset, [&](const Kernels& k, float* out) {
            k.fisher(at.data() + first, of.data() + first, by + first, terms, eps, out, count);
        });
    };
    for (const float eps : {1e-6f, 1e-30f}) {
        check(1, 1, eps);
        for (const std::size_t terms : {2, 3}) check(0, terms, eps);
    }
}

void countingAlone(std::size_t count, std::size_t offset) {
    for (const std::size_t terms : {1, 2, 3}) {
        std::vector<std::vector<float>> x;
        std::vector<const float*> pointers;
        for (std::size_t t = 0; t < terms; ++t)
            pointers.push_back(x.emplace_back(anyFloats(offset + count)).data() + offset);
        for (const std::uint32_t bits : {0u, magnitudeOf(0.25f), 0x7F80'0000u}) {
            std::vector<std::uint64_t> want(2 * terms);
            for (std::size_t i = 0; i < count; ++i) {
                const auto isLarge = [&](std::size_t t) { return magnitudeOf(pointers[t][i]) > bits; };
                std::size_t large = 0;
                for (std::size_t t = 0; t < terms; ++t) large += isLarge(t) ? 1 : 0;
                for (std::size_t t = 0; t < terms; ++t) {
                    want[2 * t] += isLarge(t) ? 1 : 0;
                    want[2 * t + 1] += isLarge(t) && large == 1 ? 1 : 0;
                }
            }
            for (const Kernels* kernels : availableKernels()) {
                std::vector<std::uint64_t> got(2 * terms);
                kernels->countAlone(pointers.data(), terms, bits, got.data(), count);
                for (std::size_t n = 0; n < got.size(); ++n)
                    expect(want[n] == got[n], kernels->isa, "countAlone", want[n], got[n]);
            }
        }
    }
}

void counting(std::size_t count, std::size_t offset) {
    const std::vector<float> x = anyFloats(offset + count);
    const std::uint32_t quarter = magnitudeOf(0.25f), tiny = magnitudeOf(0.25f * 1e-41f);
    for (const Kernels* kernels : availableKernels()) {
        for (const std::uint32_t bits : {0u, quarter, tiny, 0x7F80'0000u}) {
            std::uint64_t want = 0;
            for (std::size_t i = 0; i < count; ++i) want += magnitudeOf(x[offset + i]) == bits ? 1 : 0;
            const std::uint64_t got = kernels->countMagnitude(x.data() + offset, bits, count);
            expect(want == got, kernels->isa, "countMagnitude", want, got);
        }
        std::int64_t want = 0;
        for (std::size_t i = 0; i < count; ++i)
            if (x[offset + i] != 0 && !std::isnan(x[offset + i]))
                want += std::signbit(x[offset + i]) ? -1 : 1;
        const std::int64_t got = kernels->sumSigns(x.data() + offset, count);
        expect(want == got, kernels->isa, "sumSigns", want, got);
    }
}

void taskVectors() {
    chance();
    dropLimits();
    for (const std::size_t count : kLengths)
        for (const std::size_t offset : kOffsets) {
            keeping(count, offset);
            dropping(count, offset);
            magnitudes(count, offset);
            combining(count, offset);
            averagingByImportance(count, offset);
            counting(count, offset);
            countingAlone(count, offset);
        }
}

/// Counts the magnitudes of `x`, equal to those of `terms`, in a window.
void histogramOf(const std::vector<float>& x, const Terms& terms, DType dtype, const Window& window) {
    std::vector<std::uint32_t> bins(
        window.last < window.low ? 0 : ((window.last - window.low) >> window.shift) + 1);
    std::uint64_t exact[kCandidates] = {5}, above = 0;
    for (const float value : x) {
        const std::uint32_t bits = std::isnan(value) ? 0x7FC0'0000u : magnitudeOf(value);
        std::size_t candidate = 0;
        while (candidate < window.wanted && window.candidates[candidate] != bits) ++candidate;
        if (bits > window.last)
            ++above;
        else if (candidate < window.wanted)
            ++exact[candidate];
        else if (bits >= window.low)
            ++bins[(bits - window.low) >> window.shift];
    }
    for (const Kernels* kernels : availableKernels()) {
        std::vector<std::uint32_t> gotBins(bins.size());
        std::uint64_t gotExact[kCandidates] = {5};
        const std::uint64_t got = kernels->histogram[static_cast<std::size_t>(dtype)](
            terms, window, gotBins.data(), gotExact, x.size());
        expect(gotBins == bins, kernels->isa, "bins of a histogram", window.shift, window.wanted);
        expect(got == above, kernels->isa, "magnitudes above a window", above, got);
        for (std::size_t c = 0; c < kCandidates; ++c)
            expect(gotExact[c] == exact[c], kernels->isa, "a candidate", exact[c], gotExact[c]);
    }
}

void histograms() {
    constexpr float one = 1;
    for (const std::size_t count : {0, 1, 15, 16, 17, 100, 1000})
        for (std::size_t wanted = 0; wanted <= kCandidates; ++wanted)
            for (const std::uint32_t shift : {0u, 3u, 20u}) {
                const float steps[] = {0.0f, -0.0f, 1.0f, 1.25f, -1.5f, 2.0f, 1e-42f, -INFINITY, NAN};
                std::vector<float> x(count);
                for (float& value : x) value = steps[random_() % 9];
                Window window{shift == 20 ? 1 : magnitudeOf(1.0f), 0, shift, {}, wanted};
                window.last = shift == 20 ? 0x7FFF'FFFFu : magnitudeOf(1.0f) + (2u << shift) + 1;
                const std::uint32_t likely[] = {window.low, window.low + 1, window.last - 1, window.last};
                for (std::size_t c = 0; c < kCandidates; ++c)
                    window.candidates[c] = c < wanted ? likely[c] : 0xFFFF'FFFFu;
                for (float& value : x)
                    if (random_() % 3 == 0) std::memcpy(&value, &likely[random_() % 4], sizeof value);
                const auto* const data = reinterpret_cast<const std::byte*>(x.data());
                histogramOf(x, {&data, &one, 1}, DType::F32, window);
                // Empty: the quantile of a sample was 0.
                for (const std::uint32_t low : {1u, magnitudeOf(1.0f)})
                    histogramOf(x, {&data, &one, 1}, DType::F32, {low, low - 1, shift, {}, 0});
            }
}

/// The same for weighted sums; NaN are canonical. Windows surround one of the magnitudes.
void histogramsOfSums() {
    const float weights[] = {1, -1, 0.3f};
    for (const DType dtype : {DType::BF16, DType::F16, DType::F32, DType::F8_E4M3, DType::F8_E5M2})
        for (const std::size_t terms : {1, 2, 3})
            for (const std::size_t count : {1, 15, 16, 17, 63, 64, 65, 127, 128, 129, 300, 1000})
                for (const bool any : {false, true}) {
                    const std::size_t misaligned = random_() % 4;
                    std::vector<Input> inputs;
                    std::vector<const std::byte*> sources;
                    for (std::size_t t = 0; t < terms; ++t)
                        inputs.push_back((any ? anyBits : likeWeights)(dtype, 1, count, misaligned));
                    for (const Input& input : inputs) sources.push_back(input.bytes.data() + misaligned);
                    std::vector<float> x(count);
                    for (std::size_t i = 0; i < count; ++i)
                        for (std::size_t t = 0; t < terms; ++t) {
                            const double value =
                                decode(formatOf(dtype), bitsAt(inputs[t].bytes, misaligned, dtype, i));
                            const float product = timesFloat(weights[t], static_cast<float>(value));
                            const volatile float sum = t == 0 ? product : x[i] + product;
                            x[i] = std::isnan(sum) ? std::numeric_limits<float>::quiet_NaN() : sum;
                        }
                    const std::uint32_t middle = std::max(magnitudeOf(x[count / 2]), 9u);
                    for (const std::uint32_t width : {4u, 0x0100'0000u, 0x7FFF'FFFFu}) {
                        Window window{middle > width ? middle - width : 1,
                                      std::min(0x7FFF'FFFFu - width, middle) + width,
                                      width == 4 ? 0u : 12u,
                                      {middle, 0xFFFF'FFFFu, 0xFFFF'FFFFu, 0xFFFF'FFFFu},
                                      1};
                        histogramOf(x, {sources.data(), weights, terms}, dtype, window);
                    }
                }
}

constexpr int kElections = 2 * 2 * 2 * 3 * 2, kVoteRules = kElections + 2;

/// The rule of number `way` below `kVoteRules`: together they cover every kind of rule.
VoteRule voteRule(int way, float scale) {
    if (way >= kElections)
        return {true, false, false, Divisor::Count, way == kElections ? 0 : 1e-6f, scale, true};
    return {(way & 1) != 0,
            (way & 2) != 0,
            (way & 4) != 0,
            static_cast<Divisor>(way / 8 % 3),
            way / 24 == 0 ? 0 : 1e-6f,
            scale};
}

void votes() {
    const float steps[] = {0.0f, -0.0f, 1.0f, -1.0f, 1.5f, -2.0f, 1e-42f, 3e38f, INFINITY, NAN};
    const float weights[] = {1, 0.5f, -1.5f, 2, 1, -0.25f};
    for (const std::size_t count : {0, 1, 15, 16, 17, 63, 64, 200})
        for (int way = 0; way < kVoteRules; ++way) {
            const VoteRule rule = voteRule(way, 0.75f);
            const std::size_t terms = 1 + random_() % 3;
            std::vector<std::vector<float>> x(terms + 1, std::vector<float>(count));
            for (auto& values : x)
                for (float& value : values)
                    value = steps[random_() % (count == 200 ? 10 : 7)] * (&values == &x[0] ? 3 : 1);
            std::vector<float> want(count);
            for (std::size_t i = 0; i < count; ++i) {
                const auto voice = [&](std::size_t t) { return rule.weighted ? weights[t] : 1.0f; };
                volatile float election = 0, sum = 0, divisor = 0, alone = 0;
                for (std::size_t t = 0; t < terms; ++t) {
                    const volatile float opinion = voice(t) * x[t + 1][i];
                    election = election + opinion;
                }
                const bool positive = election > 0 || (election == 0 && rule.tiePositive);
                for (std::size_t t = 0; t < terms; ++t) {
                    const volatile float opinion = voice(t) * x[t + 1][i], product = weights[t] * x[t + 1][i];
                    if (rule.each ? !(std::fabs(opinion) > 0)
                                  : rule.elects && !(positive ? opinion > 0 : opinion < 0))
                        continue;
                    sum = sum + product;
                    divisor = divisor + (rule.divisor == Divisor::Count ? 1.0f : weights[t]);
                    const volatile float only = weights[terms + t] * x[t + 1][i];
                    alone = alone + only;
                }
                if (rule.each && divisor == 1) sum = alone;
                if (rule.divisor != Divisor::None) {
                    float by = divisor;
                    if (rule.least == 0 ? by == 0 : by < rule.least) by = rule.least == 0 ? 1 : rule.least;
                    sum = sum / by;
                }
                const volatile float scaled = rule.scale * sum;
                want[i] = x[0][i] + scaled;
            }
            std::vector<const float*> changes;
            for (std::size_t t = 0; t < terms; ++t) changes.push_back(x[t + 1].data());
            for (const DType sink : {DType::BF16, DType::F16, DType::F32, DType::F8_E4M3, DType::F8_E5M2})
                for (const Kernels* kernels : availableKernels()) {
                    std::vector<std::byte> got(count * sizeOf(sink));
                    kernels->vote[static_cast<std::size_t>(sink)](x[0].data(), changes.data(), weights, terms,
                                                                  rule, got.data(), count);
                    for (std::size_t i = 0; i < count; ++i) {
                        const Format& format = formatOf(sink);
                        const std::uint64_t bits =
                            encode(format, roundTo(format, static_cast<double>(want[i])));
                        const std::uint64_t actual = bitsAt(got, 0, sink, i);
                        expect(actual == bits, kernels->isa, "a vote", bits, actual);
                    }
                }
        }
}

/// Compares a source's tallies with its bounds' cut, element by element.
void expectTally(const Kernels& kernels, std::span<const float> changes, std::uint64_t first,
                 const PrunedSource& source, const Tallies& got) {
    for (const bool isUpper : {false, true}) {
        const Bound& bound = isUpper ? source.upper : source.lower;
        const Tally& tally = isUpper ? got.upper : got.lower;
        if (isUpper && bound.bits == kNoMagnitude) continue;
        Tally want;
        for (std::size_t i = 0; i < changes.size(); ++i) {
            const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(changes[i]) & 0x7FFF'FFFFu;
            const bool isTied = magnitude == bound.bits;
            const bool isAbove =
                isTied ? (first + i < bound.cutoff) == bound.early : magnitude > bound.bits;
            want.above += isAbove ? 1 : 0;
            if (isAbove)
                want.least = std::min(want.least, magnitude);
            else
                want.most = std::max(want.most, magnitude);
        }
        expect(tally.above == want.above, kernels.isa, "elements above a bound", want.above, tally.above);
        expect(tally.least == want.least, kernels.isa, "the least above a bound", want.least, tally.least);
        expect(tally.most == want.most, kernels.isa, "the largest below a bound", want.most, tally.most);
    }
}

/// A vote on pruned differences has the bits of its steps: differences, pruning, then a vote.
void consensuses() {
    const float steps[] = {0.0f, -0.0f, 1.0f, -1.0f, 1.5f, -2.0f, 1e-38f, 3e38f, INFINITY, NAN};
    const std::uint32_t magnitudes[] = {0,           0x3F80'0000u, 0x3FC0'0000u, 0x7F80'0000u, 0x7FC0'0000u,
                                        0xFFFF'FFFFu};
    const std::uint64_t first = 1000;
    const float weightsOf[][6] = {
        {1, 1, 1, 1, 1, 1}, {0.5f, 0.5f, 0.5f, 2, 2, 2}, {1, 0.5f, -1.5f, 3, 1, 0.25f}};
    for (const DType dtype : {DType::BF16, DType::F16, DType::F32})
        for (const std::size_t count : {0, 1, 17, 64, 200, 300})
            for (int way = 0; way < kVoteRules; ++way) {
                const VoteRule rule = voteRule(way, random_() % 2 == 0 ? 1 : 0.75f);
                const float(&weights)[6] = weightsOf[random_() % 3];
                const std::size_t terms = 1 + random_() % 3, width = sizeOf(dtype), offset = random_() % 5;
                std::vector<std::vector<std::byte>> x(terms + 1,
                                                      std::vector<std::byte>(count * width + offset));
                for (auto& values : x)
                    for (std::size_t i = 0; i < count; ++i) {
                        const float value = steps[random_() % (count < 300 ? 7 : 10)];
                        const std::uint64_t bits = encode(formatOf(dtype), roundTo(formatOf(dtype), value));
                        std::memcpy(values.data() + offset + i * width, &bits, width);
                    }
                const auto bound = [&] {
                    return Bound{magnitudes[random_() % 6], first - 10 + random_() % (count + 20),
                                 random_() % 2 == 0};
                };
                std::vector<PrunedSource> sources;
                const Draw draws[] = {{1, 0x8000'0000u}, {2, 0x3000'0000u}, {3, 0xFFFF'FFFFu}};
                const bool draw = random_() % 2 == 0;
                for (std::size_t t = 1; t <= terms; ++t)
                    sources.push_back({x[t].data() + offset, bound(),
                                       random_() % 2 == 0 ? bound() : Bound{0xFFFF'FFFFu, 0, true},
                                       random_() % 2 == 0 ? 1 : 1.25f,
                                       draw && random_() % 3 != 0 ? &draws[t - 1] : nullptr});
                for (const Kernels* kernels : availableKernels()) {
                    const std::byte* base = x[0].data() + offset;
                    const auto floatsOf = [&](std::span<const Source> values, std::span<const double> by) {
                        std::vector<float> floats(count);
                        linear(*kernels, values, by,
                               {reinterpret_cast<std::byte*>(floats.data()), DType::F32}, count);
                        return floats;
                    };
                    std::vector<std::vector<float>> changes, differences;
                    std::vector<const float*> pointers;
                    for (const PrunedSource& source : sources) {
                        const Source pair[] = {{source.data, dtype}, {base, dtype}};
                        const double signs[] = {1, -1};
                        auto& change = changes.emplace_back(floatsOf(pair, signs));
                        differences.push_back(change);
                        if (source.draw != nullptr)
                            kernels->drop(change.data(), *source.draw, source.scale, first, change.data(),
                                          count);
                        else
                            kernels->keep(change.data(), change.data(), source.lower, source.upper,
                                          source.scale, first, change.data(), count);
                    }
                    for (const auto& change : changes) pointers.push_back(change.data());
                    const Source alone[] = {{base, dtype}};
                    const double one[] = {1};
                    const auto widened = floatsOf(alone, one);
                    std::vector<std::byte> want(count * width), got(count * width);
                    const auto at = static_cast<std::size_t>(dtype);
                    kernels->vote[at](widened.data(), pointers.data(), weights, terms, rule, want.data(),
                                      count);
                    std::vector<Tallies> tallies(terms);
                    const bool isFinite = kernels->consensus[at](base, sources.data(), weights, terms, rule,
                                                                 first, got.data(), count, tallies.data());
                    bool wantFinite = true;
                    for (std::size_t i = 0; i < count; ++i)
                        wantFinite &= std::isfinite(decode(formatOf(dtype), bitsAt(want, 0, dtype, i)));
                    for (const auto& source : sources)
                        wantFinite &= kernels->isFinite[at](source.data, count);
                    expect(!isFinite || wantFinite, kernels->isa, "what a consensus says of NaN", wantFinite,
                           isFinite);
                    for (std::size_t t = 0; t < terms && isFinite; ++t)
                        expectTally(*kernels, differences[t], first, sources[t], tallies[t]);
                    for (std::size_t i = 0; i < count; ++i)
                        expect(bitsAt(got, 0, dtype, i) == bitsAt(want, 0, dtype, i), kernels->isa,
                               "a consensus", bitsAt(want, 0, dtype, i), bitsAt(got, 0, dtype, i));
                }
            }
}

void products() {
    const auto draw = [](std::size_t size, bool special) {
        std::vector<float> x(size);
        std::normal_distribution<float> normal(0, 0.02f);
        for (float& value : x)
            value = special && random_() % 8 == 0 ? (random_() % 2 == 0 ? -0.0f : INFINITY) : normal(random_);
        return x;
    };
    for (const std::size_t ranks : {1, 2, 7, 15, 16, 17, 40, 64})
        for (const std::size_t rows : {1, 2, 5, 6, 7, 13})
            for (const std::size_t columns : {0, 1, 3, 4, 15, 16, 17, 63, 64, 65, 131})
                for (int way = 0; way < 4; ++way) {
                    const bool adds = (way & 1) != 0, special = (way & 2) != 0;
                    const std::size_t offset = random_() % 16, leftStride = ranks + random_() % 3,
                                      rightStride = columns + random_() % 9,
                                      outStride = columns + random_() % 9;
                    const auto left = draw(offset + rows * leftStride, special),
                               right = draw(offset + ranks * rightStride, special);
                    const auto before = draw(offset + rows * outStride + 16, special);
                    auto want = before;
                    for (std::size_t row = 0; row < rows; ++row)
                        for (std::size_t column = 0; column < columns; ++column) {
                            float& to = want[offset + row * outStride + column];
                            for (std::size_t from = 0; from < ranks; from += 16) {
                                volatile float sum = 0;
                                for (std::size_t k = from; k < std::min<std::size_t>(ranks, from + 16); ++k) {
                                    const volatile float product = left[offset + row * leftStride + k] *
                                                                   right[offset + k * rightStride + column];
                                    sum = k == from ? product : sum + product;
                                }
                                to = adds || from > 0 ? to + sum : sum;
                            }
                            if (std::isnan(to)) to = std::numeric_limits<float>::quiet_NaN();
                        }
                    for (const Kernels* kernels : availableKernels()) {
                        auto got = before;
                        kernels->product(
                            {left.data() + offset, leftStride, right.data() + offset, rightStride, ranks},
                            rows, columns, adds, got.data() + offset, outStride);
                        for (std::size_t i = 0; i < got.size(); ++i) {
                            std::uint32_t expectedBits, actual;
                            std::memcpy(&expectedBits, &want[i], 4);
                            std::memcpy(&actual, &got[i], 4);
                            expect(actual == expectedBits, kernels->isa, "a product", expectedBits, actual);
                        }
                    }
                }
}

/// Runs of any width, with tiles that begin and end inside a run; includes infinities, NaN and subnormals.
void scaledRuns() {
    for (const std::size_t count : {0, 1, 7, 31, 64, 129, 700})
        for (const std::size_t width : {std::size_t{1}, std::size_t{3}, std::size_t{16}, std::size_t{32}, std::size_t{128}, std::size_t{1000}})
            for (const std::size_t first : {std::size_t{0}, width / 2, width - 1}) {
                const std::vector<float> x = anyFloats(count), scales = anyFloats(count + 1);
                std::vector<float> want(count);
                for (std::size_t i = 0; i < count; ++i) want[i] = timesFloat(x[i], scales[(first + i) / width]);
                checkFloats("scaleRuns", want, 0, [&](const Kernels& k, float* out) {
                    std::copy(x.begin(), x.end(), out);
                    k.scaleRuns(scales.data(), width, first, out, count);
                });
            }
}

/// Every byte, upper and lower half; scales include infinities, NaN and subnormals.
void scaledHalves() {
    const float magnitudes[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
    for (const std::size_t count : {0, 1, 7, 31, 64, 129, 700})
        for (const bool upper : {false, true}) {
            const std::vector<float> scales = anyFloats(count);
            std::vector<std::uint8_t> bytes(count);
            std::vector<float> want(count);
            for (std::size_t i = 0; i < count; ++i) {
                bytes[i] = static_cast<std::uint8_t>(i * 37 + 11);
                const int code = upper ? bytes[i] >> 4 : bytes[i] & 15;
                const float number = code > 7 ? -magnitudes[code - 8] : magnitudes[code];
                want[i] = timesFloat(number, scales[i]);
            }
            checkFloats("scaleHalves", want, 0, [&](const Kernels& k, float* out) {
                k.scaleHalves(bytes.data(), upper, scales.data(), out, count);
            });
        }
}

/// The series of `exponentials`, by the library's divisions and powers of two.
double exponentialBySteps(double x) {
    if (x < -700) return 0;
    if (std::isnan(x)) return x;
    const double k = std::floor(x * 1.4426950408889634 + 0.5);
    const double r = (x - k * 0.6931471803691238) - k * 1.9082149292705877e-10;
    double sum = 1;
    for (int n = 13; n > 0; --n) sum = 1 + r * sum / n;
    return std::ldexp(sum, static_cast<int>(k));
}

double logarithmBySteps(double x) {
    if (std::isnan(x)) return x;
    int exponent;
    double m = std::frexp(x, &exponent);
    if (m < 0.70710678118654752) {
        m *= 2;
        --exponent;
    }
    const double s = (m - 1) / (m + 1), square = s * s;
    double sum = 0;
    for (int n = 21; n > 0; n -= 2) sum = 1.0 / n + square * sum;
    return exponent * 0.6931471805599453 + 2 * s * sum;
}

void expectDoubles(const char* isa, const char* what, const std::vector<double>& expected,
                   const std::vector<double>& actual) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const auto bits = [](double x) { return std::isnan(x) ? ~0ull : std::bit_cast<std::uint64_t>(x); };
        expect(bits(expected[i]) == bits(actual[i]), isa, what, bits(expected[i]), bits(actual[i]));
    }
}

/// A table gives the same bits, for elements in it and for other elements.
void tabledExponentials() {
    std::mt19937_64 random(10);
    for (const float most : {0x1.fep-4f, 1.0f, -0x1.02p-9f})
        for (const bool inTable : {true, false}) {
            auto table = std::make_unique<ExponentialTable>();
            table->low = ((std::bit_cast<std::uint32_t>(most) >> 23 & 0xFFu) - 11) << 7;
            std::vector<float> x, tabled;
            for (const std::uint32_t sign : {0u, 0x8000u}) {
                for (std::uint32_t i = 0; i < kTabled; ++i)
                    tabled.push_back(std::bit_cast<float>((sign | (table->low + i)) << 16));
                tabled.resize(tabled.size() + 2);
            }
            std::ranges::copy_if(tabled, std::back_inserter(x), [&](float one) { return one <= most; });
            if (!inTable)
                for (const float other : {most - 0x1p-20f, std::ldexp(most, -12), -0.0f, -std::fabs(most) * 8,
                                          -std::numeric_limits<float>::infinity()})
                    x.insert(x.begin() + static_cast<std::ptrdiff_t>(random() % x.size()), other);
            x.insert(x.begin() + 40, -0.0f);
            std::vector<double> expected(x.size());
            for (std::size_t i = 0; i < x.size(); ++i)
                expected[i] = exponentialBySteps(static_cast<double>(x[i]) - static_cast<double>(most));
            for (const Kernels* kernels : availableKernels()) {
                kernels->exponentials(tabled.data(), most, nullptr, table->values, tabled.size());
                std::vector<double> actual(x.size());
                kernels->exponentials(x.data(), most, table.get(), actual.data(), x.size());
                expectDoubles(kernels->isa, "exponentials of a table", expected, actual);
                // Whatever is in the table is found there.
                std::ranges::fill(table->values, 2.0);
                kernels->exponentials(x.data(), most, table.get(), actual.data(), x.size());
                const auto found = static_cast<std::size_t>(std::ranges::count(actual, 2.0));
                const std::size_t whole = x.size() / 32 * 32;
                expect(inTable ? found == whole : found > 0 && found < whole, kernels->isa, "places in a table", whole,
                       found);
            }
        }
}

/// Rows of weights, of wide and of extreme numbers, with infinity and NaN.
void divergences() {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    std::mt19937_64 random(9);
    for (const std::size_t count : {1, 3, 8, 17, 64, 1000, 20'003})
        for (const double deviation : {1e-30, 0.02, 3.0, 100.0, 400.0}) {
            std::normal_distribution<double> normal(0, deviation);
            std::vector<float> x(count);
            for (float& one : x) one = static_cast<float>(normal(random));
            float most = *std::ranges::max_element(x);
            if (count > 64) {
                x[3] = -infinity;
                x[5] = std::numeric_limits<float>::quiet_NaN();
                x[7] = most - 700;
                x[8] = most - std::nextafter(700.0f, 701.0f);
            }
            std::vector<double> expected(count), others(count), sums(count);
            for (std::size_t i = 0; i < count; ++i) {
                expected[i] = exponentialBySteps(static_cast<double>(x[i]) - static_cast<double>(most));
                others[i] = exponentialBySteps(normal(random) / 3 - deviation);
            }
            for (const Kernels* kernels : availableKernels()) {
                std::vector<double> actual(count);
                kernels->exponentials(x.data(), most, nullptr, actual.data(), count);
                expectDoubles(kernels->isa, "exponentials", expected, actual);
                // Ratios near 3, and near 1.
                for (const double share : {0.3, 0.1, 0.1001}) {
                    const double a = 0.1 * static_cast<double>(count) + 1, b = share * static_cast<double>(count) + 1;
                    for (std::size_t i = 0; i < count; ++i) {
                        const double p = expected[i] / a + 1e-8, q = others[i] / b + 1e-8;
                        sums[i] = p * logarithmBySteps(p / q);
                    }
                    std::vector<double> found = actual;
                    kernels->divergences(found.data(), a, others.data(), b, found.data(), count);
                    expectDoubles(kernels->isa, "divergences", sums, found);
                }
            }
        }
}

}  // namespace

int main() {
    everyPatternOfAFormat();
    halfwayCases();
    everyUpperHalfOfAFloat32();
#ifdef __x86_64__
    noSubnormalIsComputedWith();
#endif
    lengthsAndMisalignments();
    everyMixtureOfDtypes();
    negativeZeroSurvives();
    reductions();
    magnitudesOfSums();
    overlaps();
    taskVectors();
    differences();
    histograms();
    histogramsOfSums();
    votes();
    consensuses();
    products();
    scaledRuns();
    scaledHalves();
    tabledExponentials();
    divergences();
    for (const Kernels* kernels : availableKernels()) std::printf("%s ", kernels->isa);
    std::printf("%ld checks, %ld failed\n", checks, failures);
    return failures == 0 ? 0 : 1;
}
