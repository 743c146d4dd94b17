#include "quantiser.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace layerloom {
namespace {

using Scheme = Quantise::Scheme;

constexpr float kLargestE4M3 = 448, kLargestE2M1 = 6;
constexpr std::int32_t kMagnitude = 0x7FFF'FFFF, kInfinity = 0x7F80'0000;

/// Rounds to an integer, ties to even, for magnitudes below 2^22.
float toWhole(float x) {
    constexpr float shift = 12'582'912;  // 1.5 · 2^23
    return (x + shift) - shift;
}

/// Rounds to the nearest of 0, ½, 1, 1½, 2, 3, 4 and 6, ties to the even code, for magnitudes up to 6.
float toE2M1(float x) {
    const float magnitude = std::fabs(x);
    // Distance between neighbours of this size.
    const float unit = magnitude < 2 ? .5f : magnitude < 4 ? 1.f : 2.f;
    return std::copysign(toWhole(magnitude / unit) * unit, x);
}

float toE4M3(const Kernels& kernels, float x) {
    constexpr double one[] = {1};
    std::byte code;
    const Source number{reinterpret_cast<const std::byte*>(&x), DType::F32};
    linear(kernels, {&number, 1}, one, {&code, DType::F8_E4M3}, 1);
    const Source rounded{&code, DType::F8_E4M3};
    linear(kernels, {&rounded, 1}, one, {reinterpret_cast<std::byte*>(&x), DType::F32}, 1);
    return x;
}

/// Divides like PyTorch: multiplies by the rounded inverse.
float overLargest(float number, float largest) { return 1 / largest * number; }

/// x / scale, clamped and rounded.
template <class Round>
void divide(const float* x, float scale, float least, float most, std::size_t count, const Round& into) {
    for (std::size_t i = 0; i < count; ++i) into(i, std::min(std::max(x[i] / scale, least), most));
}

}  // namespace

Quantiser::Quantiser(const Kernels& kernels, const Quantise& what, std::uint64_t columns)
    : kernels_(kernels),
      what_(what),
      columns_(static_cast<std::size_t>(columns)),
      across_(static_cast<std::size_t>(what.across(columns))),
      magnitudes_(across_),
      by_(across_),
      back_(across_) {
    if (what.scheme != Scheme::Nvfp4) return;
    const float largest = std::max(what.largest, std::numeric_limits<float>::min());
    factor_ = overLargest(kLargestE4M3 * kLargestE2M1, largest);
    if (!std::isfinite(factor_)) factor_ = 1;
}

void Quantiser::fill(const float* x, std::size_t rows, std::byte* out) {
    const std::size_t size = what_.codes ? 1 : sizeof(float);
    const auto width = static_cast<std::size_t>(std::min<std::uint64_t>(what_.blockColumns, columns_));
    scales_.clear();
    for (std::size_t first = 0; first < rows;) {
        const std::size_t end = first + std::min<std::uint64_t>(what_.blockRows, rows - first);
        std::fill(magnitudes_.begin(), magnitudes_.end(), 0);
        for (std::size_t row = first; row < end; ++row)
            for (std::size_t block = 0; block < across_; ++block) {
                const float* from = x + row * columns_ + block * width;
                const std::size_t count = std::min(width, columns_ - block * width);
                std::int32_t largest = magnitudes_[block];
                for (std::size_t i = 0; i < count; ++i)
                    largest = std::max(largest, std::bit_cast<std::int32_t>(from[i]) & kMagnitude);
                magnitudes_[block] = largest;
            }
        findScales();
        for (std::size_t row = first; row < end; ++row)
            for (std::size_t block = 0; block < across_; ++block) {
                const std::size_t at = row * columns_ + block * width;
                quantise(x + at, block, std::min(width, columns_ - block * width), out + at * size);
            }
        first = end;
    }
}

void Quantiser::findScales() {
    for (std::size_t block = 0; block < across_; ++block) {
        const auto largest = std::bit_cast<float>(magnitudes_[block]);
        float by = 1, back = 1;
        switch (what_.scheme) {
            case Scheme::Float8:
                // An infinite scale would turn zeros into NaN.
                if (largest != 0) by = std::min(overLargest(kLargestE4M3, largest), std::numeric_limits<float>::max());
                back = 1 / by;
                break;
            case Scheme::Int8:
            case Scheme::Int4:
                by = largest / (what_.scheme == Scheme::Int8 ? 127.5f : 7.5f);
                if (by == 0) by = std::numeric_limits<float>::epsilon();
                back = by;
                break;
            case Scheme::Mxfp4: {
                // Takes a power of two that scales the largest magnitude to between 3.5 and 7, which rounds
                // to at most 6.
                const std::int32_t exponent = ((magnitudes_[block] + (1 << 21)) >> 23) - 2;
                by = back = std::ldexp(1.f, std::clamp(exponent, 0, 254) - 127);
                break;
            }
            case Scheme::Nvfp4: {
                float scale = toE4M3(kernels_, std::min(factor_ * (largest / kLargestE2M1), kLargestE4M3));
                if (scale == 0) scale = .125f;
                by = back = scale / factor_;
                break;
            }
        }
        by_[block] = by;
        back_[block] = back;
        scales_.push_back(back);
    }
}

void Quantiser::quantise(const float* x, std::size_t block, std::size_t count, std::byte* out) {
    const float by = by_[block], back = back_[block];
    // NaN and infinity have no code, and NaN converts to no integer.
    if (magnitudes_[block] >= kInfinity) {
        if (what_.codes) std::memset(out, 0, count);
        for (std::size_t i = 0; i < count && !what_.codes; ++i)
            reinterpret_cast<float*>(out)[i] = std::isfinite(x[i]) ? 0 : std::numeric_limits<float>::quiet_NaN();
        return;
    }
    const Source numbers{reinterpret_cast<const std::byte*>(x), DType::F32};
    auto* const floats = reinterpret_cast<float*>(out);
    auto* const integers = reinterpret_cast<std::int8_t*>(out);
    const double scale[] = {by}, scaleBack[] = {back};
    switch (what_.scheme) {
        case Scheme::Float8: {
            std::byte codes[1024];
            for (std::size_t at = 0; at < count; at += sizeof codes) {
                const std::size_t n = std::min(sizeof codes, count - at);
                std::byte* const into = what_.codes ? out + at : codes;
                const Source from{numbers.data + at * sizeof(float), DType::F32};
                linear(kernels_, {&from, 1}, scale, {into, DType::F8_E4M3}, n);
                if (what_.codes) continue;
                const Source of{codes, DType::F8_E4M3};
                linear(kernels_, {&of, 1}, scaleBack, {out + at * sizeof(float), DType::F32}, n);
            }
            return;
        }
        case Scheme::Int8:
            if (what_.codes)
                return divide(x, by, -128, 127, count, [=](std::size_t i, float scaled) {
                    integers[i] = static_cast<std::int8_t>(static_cast<std::int32_t>(toWhole(scaled)));
                });
            return divide(x, by, -128, 127, count,
                          [=](std::size_t i, float scaled) { floats[i] = toWhole(scaled) * back; });
        case Scheme::Int4:
            return divide(x, by, -8, 7, count,
                          [=](std::size_t i, float scaled) { floats[i] = toWhole(scaled) * back; });
        case Scheme::Mxfp4:
        case Scheme::Nvfp4:
            return divide(x, by, -kLargestE2M1, kLargestE2M1, count,
                          [=](std::size_t i, float scaled) { floats[i] = toE2M1(scaled) * back; });
    }
}

}  // namespace layerloom
