#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

/// simd/ and convert.hpp have internal linkage on purpose: they are compiled for each instruction set, and a
/// shared inline function could resolve to a copy that the processor cannot execute.
namespace layerloom {
namespace {

template <class To, class From>
constexpr To bitsAs(const From& from) {
    return __builtin_bit_cast(To, from);
}

/// Loads from any alignment, because tensors start where a safetensors header ends.
template <class T>
T loadAt(const std::byte* at) {
    T value;
    std::memcpy(&value, at, sizeof(T));
    return value;
}

template <class T>
void storeAt(std::byte* at, T value) {
    std::memcpy(at, &value, sizeof(T));
}

/// A single lane, for elements that do not fill a vector, and for the scalar target. Each instruction set has
/// a struct with these members, which convert.hpp and elementwise.inl use.
struct Scalar {
    using Floats = float;
    using Ints = std::uint32_t;
    using Mask = bool;
    /// A type for as many float64 as there are lanes.
    using Wide = double;
    /// A type for as many 64-bit integers as there are lanes.
    using Longs = std::uint64_t;
    static constexpr std::size_t lanes = 1;
    static constexpr std::size_t registers = 16;
    /// True if the struct has these members, over several lanes; otherwise convert.hpp converts float16 and
    /// one-byte elements.
    /// - loadHalf, storeHalf: float16.
    /// - widenHalves: a register of float16 into two vectors.
    /// - load8: bytes, sign-extended into 16-bit lanes.
    /// - pack8: four vectors of integers into one of bytes, saturated, in the fastest order.
    /// - store8: these bytes, in the order of the vectors.
    static constexpr bool hasHalf = false;

    static Floats floats(float x) { return x; }
    static Ints ints(std::uint32_t x) { return x; }
    static Floats multiply(Floats a, Floats b) { return a * b; }
    static Floats add(Floats a, Floats b) { return a + b; }
    static Floats subtract(Floats a, Floats b) { return a - b; }
    /// Returns a + b where the mask is set, otherwise a. `a` must not be −0, because some versions add 0
    /// there.
    static Floats addWhere(Mask mask, Floats a, Floats b) { return mask ? a + b : a; }
    static Floats divide(Floats a, Floats b) { return a / b; }
    static Ints add(Ints a, Ints b) { return a + b; }
    static Ints subtract(Ints a, Ints b) { return a - b; }
    static Ints both(Ints a, Ints b) { return a & b; }
    static Ints either(Ints a, Ints b) { return a | b; }
    static Ints oneOf(Ints a, Ints b) { return a ^ b; }
    template <int N>
    static Ints left(Ints a) {
        return a << N;
    }
    template <int N>
    static Ints right(Ints a) {
        return a >> N;
    }
    /// Operands must be below 2³¹, because vectors compare signed; `lessUnsigned` takes any.
    static Mask less(Ints a, Ints b) { return a < b; }
    static Mask lessUnsigned(Ints a, Ints b) { return a < b; }
    /// Compares lanes as unsigned.
    static Mask atMost(Ints a, Ints b) { return a <= b; }
    static Mask equal(Ints a, Ints b) { return a == b; }
    static Mask greater(Floats a, Floats b) { return a > b; }
    /// The first lane becomes the lowest bit.
    static std::uint32_t bits(Mask mask) { return mask ? 1 : 0; }
    static Mask isNan(Floats a) { return a != a; }
    static Ints select(Mask mask, Ints a, Ints b) { return mask ? a : b; }
    /// Compares lanes as unsigned.
    static Ints smaller(Ints a, Ints b) { return a < b ? a : b; }
    static Ints larger(Ints a, Ints b) { return a > b ? a : b; }
    /// Adds 1 where the mask is set.
    static Ints count(Ints total, Mask mask) { return total + (mask ? 1 : 0); }

    static Wide wides(double x) { return x; }
    static Wide widen(Floats a) { return a; }
    static Wide multiply(Wide a, Wide b) { return a * b; }
    static Wide add(Wide a, Wide b) { return a + b; }
    /// Neither operand may be NaN.
    static Wide larger(Wide a, Wide b) { return a > b ? a : b; }
    static Wide loadWide(const double* at) { return *at; }
    static void storeWide(Wide a, double* at) { *at = a; }

    static Longs longs(std::uint64_t x) { return x; }
    /// Returns in each lane the lane's index times `step`.
    static Longs steps(std::uint64_t) { return 0; }
    static Longs add(Longs a, Longs b) { return a + b; }
    /// Multiplies modulo 2⁶⁴.
    static Longs multiply(Longs a, std::uint64_t by) { return a * by; }
    /// Returns a ^ a >> N.
    template <int N>
    static Longs fold(Longs a) {
        return a ^ a >> N;
    }
    /// Returns the upper 32 bits of the product modulo 2⁶⁴.
    static Ints upperProduct(Longs a, std::uint64_t by) { return static_cast<Ints>(a * by >> 32); }

    static Ints asInts(Floats a) { return bitsAs<Ints>(a); }
    static Floats asFloats(Ints a) { return bitsAs<Floats>(a); }

    static Floats loadFloats(const std::byte* at) { return loadAt<float>(at); }
    static void storeFloats(Floats a, std::byte* at) { storeAt(at, a); }
    /// Zero-extends; each lane fits in 16 bits.
    static Ints load16(const std::byte* at) { return loadAt<std::uint16_t>(at); }
    static void store16(Ints a, std::byte* at) { storeAt(at, static_cast<std::uint16_t>(a)); }
};

}  // namespace
}  // namespace layerloom
