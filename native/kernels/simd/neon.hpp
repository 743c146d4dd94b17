#pragma once
#include <arm_neon.h>

#include "scalar.hpp"

namespace layerloom {
namespace {

/// Advanced SIMD of AArch64: four lanes.
struct Neon {
    using Floats = float32x4_t;
    using Ints = uint32x4_t;
    using Mask = uint32x4_t;
    struct Wide {
        float64x2_t low, high;
    };
    struct Longs {
        uint64x2_t low, high;
    };
    static constexpr std::size_t lanes = 4;
    static constexpr std::size_t registers = 32;
    static constexpr bool hasHalf = true;

    static Floats floats(float x) { return vdupq_n_f32(x); }
    static Ints ints(std::uint32_t x) { return vdupq_n_u32(x); }
    static Floats multiply(Floats a, Floats b) { return vmulq_f32(a, b); }
    static Floats add(Floats a, Floats b) { return vaddq_f32(a, b); }
    static Floats subtract(Floats a, Floats b) { return vsubq_f32(a, b); }
    static Floats addWhere(Mask mask, Floats a, Floats b) {
        return vaddq_f32(a, vreinterpretq_f32_u32(vandq_u32(mask, vreinterpretq_u32_f32(b))));
    }
    static Floats divide(Floats a, Floats b) { return vdivq_f32(a, b); }
    static Ints add(Ints a, Ints b) { return vaddq_u32(a, b); }
    static Ints subtract(Ints a, Ints b) { return vsubq_u32(a, b); }
    static Ints both(Ints a, Ints b) { return vandq_u32(a, b); }
    static Ints either(Ints a, Ints b) { return vorrq_u32(a, b); }
    static Ints oneOf(Ints a, Ints b) { return veorq_u32(a, b); }
    template <int N>
    static Ints left(Ints a) {
        return vshlq_n_u32(a, N);
    }
    template <int N>
    static Ints right(Ints a) {
        return vshrq_n_u32(a, N);
    }
    static Ints smaller(Ints a, Ints b) { return vminq_u32(a, b); }
    static Ints larger(Ints a, Ints b) { return vmaxq_u32(a, b); }
    static Mask less(Ints a, Ints b) { return vcltq_u32(a, b); }
    static Mask lessUnsigned(Ints a, Ints b) { return vcltq_u32(a, b); }
    static Mask atMost(Ints a, Ints b) { return vcleq_u32(a, b); }
    static Mask equal(Ints a, Ints b) { return vceqq_u32(a, b); }
    static Mask greater(Floats a, Floats b) { return vcgtq_f32(a, b); }
    static std::uint32_t bits(Mask mask) {
        const uint32x4_t places = {1, 2, 4, 8};
        return vaddvq_u32(vandq_u32(mask, places));
    }
    static Mask isNan(Floats a) { return vmvnq_u32(vceqq_f32(a, a)); }
    static Ints select(Mask mask, Ints a, Ints b) { return vbslq_u32(mask, a, b); }
    static Ints count(Ints total, Mask mask) { return subtract(total, mask); }

    static Wide wides(double x) { return {vdupq_n_f64(x), vdupq_n_f64(x)}; }
    static Wide widen(Floats a) { return {vcvt_f64_f32(vget_low_f32(a)), vcvt_high_f64_f32(a)}; }
    static Wide multiply(Wide a, Wide b) { return {vmulq_f64(a.low, b.low), vmulq_f64(a.high, b.high)}; }
    static Wide add(Wide a, Wide b) { return {vaddq_f64(a.low, b.low), vaddq_f64(a.high, b.high)}; }
    static Wide larger(Wide a, Wide b) { return {vmaxq_f64(a.low, b.low), vmaxq_f64(a.high, b.high)}; }
    static Wide loadWide(const double* at) { return {vld1q_f64(at), vld1q_f64(at + 2)}; }
    static void storeWide(Wide a, double* at) {
        vst1q_f64(at, a.low);
        vst1q_f64(at + 2, a.high);
    }

    static Longs longs(std::uint64_t x) { return {vdupq_n_u64(x), vdupq_n_u64(x)}; }
    static Longs steps(std::uint64_t step) {
        const uint64x2_t low = {0, step}, high = {2 * step, 3 * step};
        return {low, high};
    }
    static Longs add(Longs a, Longs b) { return {vaddq_u64(a.low, b.low), vaddq_u64(a.high, b.high)}; }
    static Longs multiply(Longs a, std::uint64_t by) { return {product(a.low, by), product(a.high, by)}; }
    template <int N>
    static Longs fold(Longs a) {
        return {veorq_u64(a.low, vshrq_n_u64(a.low, N)), veorq_u64(a.high, vshrq_n_u64(a.high, N))};
    }
    static Ints upperProduct(Longs a, std::uint64_t by) {
        return vuzp2q_u32(vreinterpretq_u32_u64(product(a.low, by)), vreinterpretq_u32_u64(product(a.high, by)));
    }

    static Ints asInts(Floats a) { return vreinterpretq_u32_f32(a); }
    static Floats asFloats(Ints a) { return vreinterpretq_f32_u32(a); }

    static Floats loadFloats(const std::byte* at) {
        return asFloats(vreinterpretq_u32_u8(vld1q_u8(bytes(at))));
    }
    static void storeFloats(Floats a, std::byte* at) { vst1q_u8(bytes(at), vreinterpretq_u8_u32(asInts(a))); }
    static Ints load16(const std::byte* at) { return vmovl_u16(vreinterpret_u16_u8(vld1_u8(bytes(at)))); }
    static Ints load8(const std::byte* at) {
        return vreinterpretq_u32_s16(vmovl_s8(vreinterpret_s8_u8(vld1_u8(bytes(at)))));
    }
    static void store16(Ints a, std::byte* at) { vst1_u8(bytes(at), vreinterpret_u8_u16(vmovn_u32(a))); }
    static Ints pack8(const Ints (&a)[4]) {
        return vreinterpretq_u32_s8(vcombine_s8(pack16(a[0], a[1]), pack16(a[2], a[3])));
    }
    static void store8(Ints packed, std::byte* at) { vst1q_u8(bytes(at), vreinterpretq_u8_u32(packed)); }
    static Floats loadHalf(const std::byte* at) {
        return vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(bytes(at))));
    }
    static void widenHalves(Ints halves, Floats& first, Floats& second) {
        const float16x8_t eight = vreinterpretq_f16_u32(halves);
        first = vcvt_f32_f16(vget_low_f16(eight));
        second = vcvt_high_f32_f16(eight);
    }
    static void storeHalf(Floats a, std::byte* at) {
        vst1_u8(bytes(at), vreinterpret_u8_f16(vcvt_f16_f32(a)));
    }

  private:
    /// Multiplies modulo 2⁶⁴, by products of halves.
    static uint64x2_t product(uint64x2_t a, std::uint64_t by) {
        const uint32x4_t turned = vreinterpretq_u32_u64(vdupq_n_u64(by << 32 | by >> 32));
        const uint64x2_t across = vpaddlq_u32(vmulq_u32(vreinterpretq_u32_u64(a), turned));
        return vmlal_n_u32(vshlq_n_u64(across, 32), vmovn_u64(a), static_cast<std::uint32_t>(by));
    }
    static int8x8_t pack16(Ints a, Ints b) {
        const int16x4_t low = vqmovn_s32(vreinterpretq_s32_u32(a));
        return vqmovn_s16(vqmovn_high_s32(low, vreinterpretq_s32_u32(b)));
    }
    static const std::uint8_t* bytes(const std::byte* at) {
        return reinterpret_cast<const std::uint8_t*>(at);
    }
    static std::uint8_t* bytes(std::byte* at) { return reinterpret_cast<std::uint8_t*>(at); }
};

}  // namespace
}  // namespace layerloom
