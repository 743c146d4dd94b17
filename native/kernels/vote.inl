// Kernels that elect and add task vectors.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "convert.hpp"
#include "kernels.hpp"
#include "random.inl"

namespace layerloom {
namespace {

struct AppliedRule {
    VoteRule rule;
    const float* weights;
    std::size_t terms;
    /// True if every possible divisor is a power of two, so that multiplying by the inverse rounds like
    /// dividing.
    bool halves;

    AppliedRule(const VoteRule& of, const float* by, std::size_t count)
        : rule(of), weights(by), terms(count) {
        const bool counts = rule.divisor == Divisor::Count;
        const float share = counts ? 1 : weights[0];
        const auto bits = bitsAs<std::uint32_t>(share);
        const bool isPower = (bits & 0x807F'FFFFu) == 0 && share >= 1e-6f && share <= 1e6f;
        halves =
            isPower && rule.least == 0 && (terms == 1 || (terms == 2 && (counts || weights[1] == share)));
    }
};

/// Multiplies by a factor; a factor of 1 costs only a well-predicted branch.
template <class V>
[[gnu::always_inline]] inline typename V::Floats times(float factor, typename V::Floats x) {
    return factor == 1 ? x : V::multiply(V::floats(factor), x);
}

/// Adds changes to N vectors of the base, side by side, so that the rule is evaluated once for all.
///
/// @param change change(t, x) sets x to change t
/// @param base becomes the result
template <class V, std::size_t N, class Change>
[[gnu::always_inline]] inline void addChanges(const AppliedRule& applied, const Change& change,
                                              typename V::Floats (&base)[N]) {
    using Floats = typename V::Floats;
    const VoteRule& rule = applied.rule;
    const Floats zero = V::floats(0);
    // Flipping this sign bit makes changes that agree positive.
    typename V::Ints turned[N];
    Floats sum[N], divisor[N], alone[N], x[N];
    for (std::size_t n = 0; n < N; ++n) {
        turned[n] = V::ints(0);
        sum[n] = divisor[n] = alone[n] = zero;
    }
    if (rule.elects && !rule.each) {
        for (std::size_t t = 0; t < applied.terms; ++t) {
            const float voice = rule.weighted ? applied.weights[t] : 1;
            change(t, x);
            for (std::size_t n = 0; n < N; ++n) sum[n] = V::add(sum[n], times<V>(voice, x[n]));
        }
        // Greater than this number means not below 0.
        const Floats least = V::floats(rule.tiePositive ? -std::numeric_limits<float>::denorm_min() : 0);
        for (std::size_t n = 0; n < N; ++n) {
            turned[n] = V::select(V::greater(sum[n], least), V::ints(0), V::ints(0x8000'0000u));
            sum[n] = zero;
        }
    }
    for (std::size_t t = 0; t < applied.terms; ++t) {
        const float weight = applied.weights[t], voice = rule.weighted ? weight : 1;
        const Floats share = V::floats(rule.divisor == Divisor::Count ? 1 : weight);
        change(t, x);
        for (std::size_t n = 0; n < N; ++n) {
            const Floats product = times<V>(weight, x[n]);
            if (rule.elects) {
                const auto opinion = rule.each ? V::both(V::asInts(x[n]), V::ints(kMagnitude))
                                               : V::oneOf(V::asInts(times<V>(voice, x[n])), turned[n]);
                const auto agrees = V::greater(V::asFloats(opinion), zero);
                // Other lanes add 0, which changes no sum: sums are never −0.
                sum[n] = V::addWhere(agrees, sum[n], product);
                divisor[n] = V::addWhere(agrees, divisor[n], share);
                if (rule.each)
                    alone[n] =
                        V::addWhere(agrees, alone[n], times<V>(applied.weights[applied.terms + t], x[n]));
            } else {
                sum[n] = V::add(sum[n], product);
                divisor[n] = V::add(divisor[n], share);
            }
        }
    }
    if (rule.each)
        for (std::size_t n = 0; n < N; ++n) {
            const auto isAlone = V::equal(V::asInts(divisor[n]), V::asInts(V::floats(1)));
            sum[n] = V::asFloats(V::select(isAlone, V::asInts(alone[n]), V::asInts(sum[n])));
        }
    if (rule.divisor != Divisor::None) {
        const Floats least = V::floats(rule.least == 0 ? 1 : rule.least);
        for (std::size_t n = 0; n < N; ++n) {
            const auto tooSmall =
                rule.least == 0 ? V::equal(V::asInts(divisor[n]), V::ints(0)) : V::greater(least, divisor[n]);
            const auto by = V::select(tooSmall, V::asInts(least), V::asInts(divisor[n]));
            sum[n] = applied.halves ? V::multiply(sum[n], V::asFloats(V::subtract(V::ints(0x7F00'0000u), by)))
                                    : V::divide(sum[n], V::asFloats(by));
        }
    }
    for (std::size_t n = 0; n < N; ++n) base[n] = V::add(base[n], times<V>(rule.scale, sum[n]));
}

/// Arranged for `storeVectors` with these dtypes.
template <class V, DType In, DType Out, std::size_t N>
[[gnu::always_inline]] inline void loadVectors(const std::byte* at, typename V::Floats (&x)[N]) {
    if constexpr (N == kAbreast)
        loadFour<V, In, Out>(at, x);
    else
        x[0] = load<V, In>(at);
}

template <class V, DType In, DType Out, std::size_t N>
[[gnu::always_inline]] inline void storeVectors(const typename V::Floats (&x)[N], std::byte* at) {
    if constexpr (N == kAbreast)
        storeFour<V, In, Out>(x, at);
    else
        store<V, Out>(x[0], at);
}

/// Calls at.operator()<U, N>(i, largest) for blocks of N vectors U, then for single elements. If a block had
/// NaN, repeats for all elements singly, which makes NaN canonical. Returns true if no magnitude added to
/// `largest` is beyond dtype D.
template <class V, DType D, class At>
[[gnu::always_inline]] inline bool inBlocks(std::size_t begin, std::size_t end, const At& at) {
    constexpr std::size_t block = kAbreast * V::lanes;
    std::size_t i = begin;
    Largest<V> most;
    for (; i + block <= end; i += block) at.template operator()<V, kAbreast>(i, most);
    Largest<Scalar> alone{most.bits()};
    if (alone.bits() > kInfinity32) i = begin;
    for (; i < end; ++i) at.template operator()<Scalar, 1>(i, alone);
    return alone.bits() < kBeyond<D>;
}

template <class V, DType Out>
bool vote(const float* base, const float* const* changes, const float* weights, std::size_t terms,
          const VoteRule& rule, std::byte* out, std::size_t count) {
    // Copied, because the compiler must assume that `out` aliases the original.
    const AppliedRule applied(rule, weights, terms);
    return inBlocks<V, Out>(
        0, count, [&]<class U, std::size_t N>(std::size_t i, Largest<U>& largest) __attribute__((always_inline)) {
            const auto load = [i](const float* from, typename U::Floats(&x)[N])
                __attribute__((always_inline)) {
                for (std::size_t n = 0; n < N; ++n)
                    x[n] = U::loadFloats(reinterpret_cast<const std::byte*>(from + i + n * U::lanes));
            };
            typename U::Floats sum[N];
            load(base, sum);
            addChanges<U, N>(
                applied,
                [&](std::size_t t, typename U::Floats(&x)[N])
                    __attribute__((always_inline)) { load(changes[t], x); },
                sum);
            for (std::size_t n = 0; n < N; ++n) largest.add(sum[n]);
            storeVectors<U, DType::F32, Out>(sum, out + i * sizeOf(Out));
        });
}

/// True if a bound is among NaN magnitudes, so that payloads matter.
bool parts(const Kept& kept) {
    const auto isBetween = [](std::uint32_t bits) { return bits > kInfinity32 + 1 && bits <= kMagnitude; };
    return isBetween(kept.least) || isBetween(kept.least + kept.width);
}

/// Counts by lane. A constructor would also write entries of unused sources.
template <class V>
struct TallyLanes {
    typename V::Ints below, least, most;

    void clear() {
        below = most = V::ints(0);
        least = V::ints(kNoMagnitude);
    }

    /// @param from the least magnitude above the bound
    [[gnu::always_inline]] void add(typename V::Ints magnitude, typename V::Ints from) {
        const auto isBelow = V::lessUnsigned(magnitude, from);
        below = V::count(below, isBelow);
        least = V::smaller(least, V::select(isBelow, V::ints(kNoMagnitude), magnitude));
        most = V::larger(most, V::select(isBelow, magnitude, V::ints(0)));
    }

    /// Subtracts elements below the bound from `above`, which counts all elements before this call.
    void addTo(Tally& tally) const {
        std::uint32_t each[3][V::lanes];
        V::storeFloats(V::asFloats(below), reinterpret_cast<std::byte*>(each[0]));
        V::storeFloats(V::asFloats(least), reinterpret_cast<std::byte*>(each[1]));
        V::storeFloats(V::asFloats(most), reinterpret_cast<std::byte*>(each[2]));
        for (std::size_t lane = 0; lane < V::lanes; ++lane)
            tally.add({0 - static_cast<std::uint64_t>(each[0][lane]), each[1][lane], each[2][lane]});
    }
};

template <class V>
class BoundTally {
  public:
    void clear() {
        wide_.clear();
        single_.clear();
    }

    template <class U>
    [[gnu::always_inline]] void add(typename U::Ints magnitude, std::uint32_t from) {
        if constexpr (std::is_same_v<U, V>)
            wide_.add(magnitude, U::ints(from));
        else
            single_.add(magnitude, U::ints(from));
    }

    void addTo(Tally& tally, std::size_t elements) const {
        tally.above += elements;
        wide_.addTo(tally);
        single_.addTo(tally);
    }

  private:
    TallyLanes<V> wide_;
    TallyLanes<Scalar> single_;
};

/// Computes elements [begin, end), among which there is no cutoff. @param first index of element 0, for draws
template <class V, DType D, bool Tallied>
bool consensusBetween(const std::byte* base, const PrunedSource* sources, const Kept* kept,
                      const AppliedRule& applied, std::uint64_t first, std::byte* out, std::size_t begin,
                      std::size_t end, Tallies* tallies) {
    const bool isExact = std::any_of(kept, kept + applied.terms, parts);
    BoundTally<V> lower[kMostChanges], upper[kMostChanges];
    const auto hasUpper = [&](std::size_t t) { return sources[t].upper.bits != kNoMagnitude; };
    if constexpr (Tallied)
        for (std::size_t t = 0; t < applied.terms; ++t) {
            lower[t].clear();
            upper[t].clear();
        }
    const bool isFinite = inBlocks<V, D>(
        begin, end, [&]<class U, std::size_t N>(std::size_t i, Largest<U>& largest) __attribute__((always_inline)) {
            using Floats = typename U::Floats;
            const std::size_t offset = i * sizeOf(D);
            Floats sum[N], negated[N], changes[kMostChanges][N];
            const auto read = [offset](const std::byte* from, Floats(&x)[N]) __attribute__((always_inline)) {
                fetchAhead<N * U::lanes * sizeOf(D)>(from + offset);
                loadVectors<U, D, D>(from + offset, x);
            };
            read(base, sum);
            for (std::size_t n = 0; n < N; ++n) negated[n] = U::multiply(sum[n], U::floats(-1));
            for (std::size_t t = 0; t < applied.terms; ++t) {
                Floats x[N];
                read(sources[t].data, x);
                const auto least = U::ints(kept[t].least), width = U::ints(kept[t].width);
                const Draw* const draw = sources[t].draw;
                typename U::Ints words[N];
                if (draw != nullptr) drawWords<U, D, D, N>(draw->key, first + i, words);
                for (std::size_t n = 0; n < N; ++n) {
                    Floats change = U::add(x[n], negated[n]);
                    if (isExact) change = canonical<U>(change);
                    const auto magnitude = U::both(U::asInts(change), U::ints(kMagnitude));
                    largest.addMagnitude(magnitude);
                    if constexpr (Tallied) {
                        lower[t].template add<U>(magnitude, kept[t].least);
                        if (hasUpper(t)) upper[t].template add<U>(magnitude, kept[t].beyond);
                    }
                    const auto scaled = U::asInts(times<U>(sources[t].scale, change)), zero = U::ints(0);
                    changes[t][n] = U::asFloats(
                        draw == nullptr
                            ? U::select(U::lessUnsigned(U::subtract(magnitude, least), width), scaled, zero)
                            : U::select(U::lessUnsigned(U::ints(draw->last), words[n]), zero, scaled));
                }
            }
            const auto change = [&](std::size_t t, Floats(&x)[N]) __attribute__((always_inline)) {
                for (std::size_t n = 0; n < N; ++n) x[n] = changes[t][n];
            };
            addChanges<U, N>(applied, change, sum);
            for (std::size_t n = 0; n < N; ++n) largest.add(sum[n]);
            storeVectors<U, D, D>(sum, out + offset);
        });
    if constexpr (Tallied)
        for (std::size_t t = 0; t < applied.terms; ++t) {
            lower[t].addTo(tallies[t].lower, end - begin);
            if (hasUpper(t)) upper[t].addTo(tallies[t].upper, end - begin);
        }
    return isFinite;
}

template <class V, DType D>
bool consensus(const std::byte* base, const PrunedSource* sources, const float* weights, std::size_t terms,
               const VoteRule& rule, std::uint64_t first, std::byte* out, std::size_t count, Tallies* tallies) {
    const AppliedRule applied(rule, weights, terms);
    const auto between = tallies == nullptr ? consensusBetween<V, D, false> : consensusBetween<V, D, true>;
    Kept kept[kMostChanges] = {};
    bool isFinite = true;
    for (std::size_t begin = 0; begin < count;) {
        std::size_t end = count;
        for (std::size_t t = 0; t < terms; ++t)
            kept[t] = keptFrom(sources[t].lower, sources[t].upper, first, begin, end);
        isFinite &= between(base, sources, kept, applied, first, out, begin, end, tallies);
        begin = end;
    }
    return isFinite;
}

}  // namespace
}  // namespace layerloom
