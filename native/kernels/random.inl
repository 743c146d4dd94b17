#pragma once
// Counter-based random numbers: SplitMix64 of a key and an element's index.
#include "convert.hpp"
#include "kernels.hpp"

namespace layerloom {
namespace {

constexpr std::uint64_t kGamma = 0x9E37'79B9'7F4A'7C15ull;

/// Returns the upper 32 bits of each scattered counter, before the last fold.
template <class V>
[[gnu::always_inline]] inline typename V::Ints scatter(typename V::Longs z) {
    z = V::multiply(V::template fold<30>(z), 0xBF58'476D'1CE4'E5B9ull);
    return V::upperProduct(V::template fold<27>(z), 0x94D0'49BB'1331'11EBull);
}

/// Does the last fold, z ^ z >> 31. In the upper bits, it changes only the lowest, by the highest.
template <class V>
[[gnu::always_inline]] inline typename V::Ints folded(typename V::Ints upper) {
    return V::oneOf(upper, V::template right<31>(upper));
}

/// True for words that a draw keeps, given before their last fold. The lowest bit matters only for words next
/// to the limit, whose highest bit is the limit's.
template <class V>
[[gnu::always_inline]] inline typename V::Mask isDrawn(const Draw& draw, typename V::Ints upper) {
    return V::atMost(V::oneOf(upper, V::ints(draw.last >> 31)), V::ints(draw.last));
}

/// Scatters counters of N vectors of elements from `first` on, arranged as `loadVectors` does for these
/// dtypes.
template <class V, DType In, DType Out, std::size_t N>
[[gnu::always_inline]] inline void drawWords(std::uint64_t key, std::uint64_t first, typename V::Ints (&words)[N]) {
    constexpr bool isSplit = N == kAbreast && splitsPairs<In, Out>;
    const auto steps = V::steps(isSplit ? 2 * kGamma : kGamma), start = V::longs(key + (first + 1) * kGamma);
    for (std::size_t n = 0; n < N; ++n) {
        const std::uint64_t place = isSplit ? n / 2 * 2 * V::lanes + n % 2 : n * V::lanes;
        // Adds constants first, so that one addition remains.
        words[n] = scatter<V>(V::add(start, V::add(steps, V::longs(place * kGamma))));
    }
}

/// Sets elements that are not drawn to 0, and scales the others.
template <class V, std::size_t N>
[[gnu::always_inline]] inline void dropFrom(const Draw& draw, float scale, std::uint64_t first,
                                            typename V::Floats (&x)[N]) {
    typename V::Ints words[N];
    drawWords<V, DType::F32, DType::F32, N>(draw.key, first, words);
    for (std::size_t n = 0; n < N; ++n) {
        const auto scaled = V::asInts(V::multiply(x[n], V::floats(scale)));
        x[n] = V::asFloats(V::select(isDrawn<V>(draw, words[n]), scaled, V::ints(0)));
    }
}

/// Calls at.operator()<U, N>(i) for blocks of N vectors U, then for single elements.
template <class V, class At>
[[gnu::always_inline]] inline void inVectors(std::size_t count, const At& at) {
    std::size_t i = 0;
    for (; i + kAbreast * V::lanes <= count; i += kAbreast * V::lanes) at.template operator()<V, kAbreast>(i);
    for (; i < count; ++i) at.template operator()<Scalar, 1>(i);
}

template <class V>
void randoms(std::uint64_t key, std::uint64_t first, std::uint32_t* out, std::size_t count) {
    inVectors<V>(count, [&]<class U, std::size_t N>(std::size_t i) __attribute__((always_inline)) {
        typename U::Ints words[N];
        drawWords<U, DType::F32, DType::F32, N>(key, first + i, words);
        for (std::size_t n = 0; n < N; ++n)
            U::storeFloats(U::asFloats(folded<U>(words[n])), reinterpret_cast<std::byte*>(out + (i + n * U::lanes)));
    });
}

template <class V>
void drop(const float* x, const Draw& draw, float scale, std::uint64_t first, float* out, std::size_t count) {
    // Copies, because the compiler must assume that `out` aliases the original.
    const Draw own = draw;
    inVectors<V>(count, [&]<class U, std::size_t N>(std::size_t i) __attribute__((always_inline)) {
        typename U::Floats kept[N];
        for (std::size_t n = 0; n < N; ++n)
            kept[n] = U::loadFloats(reinterpret_cast<const std::byte*>(x + (i + n * U::lanes)));
        dropFrom<U>(own, scale, first + i, kept);
        for (std::size_t n = 0; n < N; ++n)
            U::storeFloats(kept[n], reinterpret_cast<std::byte*>(out + (i + n * U::lanes)));
    });
}

}  // namespace
}  // namespace layerloom
