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
    /// True if every possible divisor is a power of two. Multiplying by the inverse then rounds like
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

/// Multiplies by a factor. A factor of 1 costs only a well-predicted branch.
template <class V, std::size_t N>
[[gnu::always_inline]] inline void scaleBy(float factor, typename V::Floats (&x)[N]) {
    if (factor == 1) return;
    for (std::size_t n = 0; n < N; ++n) x[n] = V::multiply(V::floats(factor), x[n]);
}

/// Adds the sum of changes of N vectors, divided by the rule's divisor, to the base.
template <class V, std::size_t N>
[[gnu::always_inline]] inline void addDivided(const AppliedRule& applied, typename V::Floats (&sum)[N],
                                              const typename V::Floats (&divisor)[N],
                                              typename V::Floats (&base)[N]) {
    const VoteRule& rule = applied.rule;
    if (rule.divisor != Divisor::None) {
        const auto least = V::floats(rule.least == 0 ? 1 : rule.least);
        for (std::size_t n = 0; n < N; ++n) {
            const auto tooSmall =
                rule.least == 0 ? V::equal(V::asInts(divisor[n]), V::ints(0)) : V::greater(least, divisor[n]);
            const auto by = V::select(tooSmall, V::asInts(least), V::asInts(divisor[n]));
            sum[n] = applied.halves ? V::multiply(sum[n], V::asFloats(V::subtract(V::ints(0x7F00'0000u), by)))
                                    : V::divide(sum[n], V::asFloats(by));
        }
    }
    scaleBy<V>(rule.scale, sum);
    for (std::size_t n = 0; n < N; ++n) base[n] = V::add(base[n], sum[n]);
}

/// Adds changes to N vectors of the base side by side, so that the rule is evaluated once for all.
///
/// @tparam Elects as in the rule
/// @param change change(t, x) sets x to change t; called once for each t if there is no election
/// @param base becomes the result
template <class V, bool Elects, std::size_t N, class Change>
[[gnu::always_inline]] inline void addChanges(const AppliedRule& applied, const Change& change,
                                              typename V::Floats (&base)[N]) {
    using Floats = typename V::Floats;
    const VoteRule& rule = applied.rule;
    const auto shareOf = [&](std::size_t t) { return rule.divisor == Divisor::Count ? 1 : applied.weights[t]; };
    const Floats zero = V::floats(0);
    Floats sum[N], divisor[N], x[N];
    for (std::size_t n = 0; n < N; ++n) sum[n] = zero;
    if constexpr (!Elects) {
        float shares = 0;
        for (std::size_t t = 0; t < applied.terms; ++t) {
            change(t, x);
            scaleBy<V>(applied.weights[t], x);
            for (std::size_t n = 0; n < N; ++n) sum[n] = V::add(sum[n], x[n]);
            shares += shareOf(t);
        }
        for (std::size_t n = 0; n < N; ++n) divisor[n] = V::floats(shares);
        return addDivided<V>(applied, sum, divisor, base);
    }
    // Flips this sign bit, so that changes that agree become positive.
    typename V::Ints turned[N];
    Floats alone[N], product[N];
    if (!rule.each) {
        for (std::size_t t = 0; t < applied.terms; ++t) {
            change(t, x);
            if (rule.weighted) scaleBy<V>(applied.weights[t], x);
            for (std::size_t n = 0; n < N; ++n) sum[n] = V::add(sum[n], x[n]);
        }
        // A greater sum counts as positive.
        const Floats least = V::floats(rule.tiePositive ? -std::numeric_limits<float>::denorm_min() : 0);
        for (std::size_t n = 0; n < N; ++n)
            turned[n] = V::select(V::greater(sum[n], least), V::ints(0), V::ints(0x8000'0000u));
    }
    for (std::size_t n = 0; n < N; ++n) sum[n] = divisor[n] = alone[n] = zero;
    for (std::size_t t = 0; t < applied.terms; ++t) {
        const Floats share = V::floats(shareOf(t));
        change(t, x);
        for (std::size_t n = 0; n < N; ++n) product[n] = x[n];
        scaleBy<V>(applied.weights[t], product);
        // Adds 0 in other lanes, which changes no sum: sums are never −0.
        const auto count = [&](std::size_t n, typename V::Ints opinion) __attribute__((always_inline)) {
            const auto agrees = V::greater(V::asFloats(opinion), zero);
            sum[n] = V::addWhere(agrees, sum[n], product[n]);
            divisor[n] = V::addWhere(agrees, divisor[n], share);
            return agrees;
        };
        if (!rule.each) {
            for (std::size_t n = 0; n < N; ++n)
                count(n, V::oneOf(V::asInts(rule.weighted ? product[n] : x[n]), turned[n]));
            continue;
        }
        const Floats weight = V::floats(applied.weights[applied.terms + t]);
        for (std::size_t n = 0; n < N; ++n) {
            const auto agrees = count(n, V::both(V::asInts(x[n]), V::ints(kMagnitude)));
            alone[n] = V::addWhere(agrees, alone[n], V::multiply(weight, x[n]));
        }
    }
    if (rule.each)
        for (std::size_t n = 0; n < N; ++n) {
            const auto isAlone = V::equal(V::asInts(divisor[n]), V::asInts(V::floats(1)));
            sum[n] = V::asFloats(V::select(isAlone, V::asInts(alone[n]), V::asInts(sum[n])));
        }
    addDivided<V>(applied, sum, divisor, base);
}

/// Arranges elements for `storeVectors` with these dtypes.
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

template <class V, DType Out, bool Elects>
bool voteBy(const float* base, const float* const* changes, const AppliedRule& applied, std::byte* out,
            std::size_t count) {
    return inBlocks<V, Out>(
        0, count, [&]<class U, std::size_t N>(std::size_t i, Largest<U>& largest) __attribute__((always_inline)) {
            const auto load = [i](const float* from, typename U::Floats(&x)[N])
                __attribute__((always_inline)) {
                for (std::size_t n = 0; n < N; ++n)
                    x[n] = U::loadFloats(reinterpret_cast<const std::byte*>(from + i + n * U::lanes));
            };
            typename U::Floats sum[N];
            load(base, sum);
            addChanges<U, Elects>(
                applied,
                [&](std::size_t t, typename U::Floats(&x)[N])
                    __attribute__((always_inline)) { load(changes[t], x); },
                sum);
            for (std::size_t n = 0; n < N; ++n) largest.add(sum[n]);
            storeVectors<U, DType::F32, Out>(sum, out + i * sizeOf(Out));
        });
}

template <class V, DType Out>
bool vote(const float* base, const float* const* changes, const float* weights, std::size_t terms,
          const VoteRule& rule, std::byte* out, std::size_t count) {
    // Copies, because the compiler must assume that `out` aliases the original.
    const AppliedRule applied(rule, weights, terms);
    return (rule.elects ? voteBy<V, Out, true> : voteBy<V, Out, false>)(base, changes, applied, out, count);
}

/// True if a bound divides NaN magnitudes, so that payloads matter.
bool parts(const Kept& kept) {
    const auto isBetween = [](std::uint32_t bits) { return bits > kInfinity32 + 1 && bits <= kMagnitude; };
    return isBetween(kept.least) || isBetween(kept.beyond);
}

/// For each lane: how many magnitudes lie below a bound, and their least and greatest distance from it.
/// Distances are modulo 2³², so those of magnitudes below the bound are 2³¹ or more. Has `clear` instead of a
/// constructor, which would also write the array entries of unused sources.
template <class V>
struct TallyLanes {
    typename V::Ints below, least, most;

    void clear() {
        below = most = V::ints(0);
        least = V::ints(kNoMagnitude);
    }

    [[gnu::always_inline]] void add(typename V::Ints distance) {
        below = V::add(below, V::template right<31>(distance));
        least = V::smaller(least, distance);
        most = V::larger(most, distance);
    }

    /// Subtracts elements below the bound from `above`, which already counts all elements.
    void addTo(Tally& tally, std::uint32_t from) const {
        std::uint32_t each[3][V::lanes];
        V::storeFloats(V::asFloats(below), reinterpret_cast<std::byte*>(each[0]));
        V::storeFloats(V::asFloats(least), reinterpret_cast<std::byte*>(each[1]));
        V::storeFloats(V::asFloats(most), reinterpret_cast<std::byte*>(each[2]));
        for (std::size_t lane = 0; lane < V::lanes; ++lane) {
            const auto isBelow = [&](std::size_t which) { return each[which][lane] > kMagnitude; };
            tally.add({0 - static_cast<std::uint64_t>(each[0][lane]), isBelow(1) ? kNoMagnitude : each[1][lane] + from,
                       isBelow(2) ? each[2][lane] + from : 0});
        }
    }
};

template <class V>
class BoundTally {
  public:
    void clear() {
        wide_.clear();
        single_.clear();
    }

    /// @param from the least magnitude above the bound
    template <class U, std::size_t N>
    [[gnu::always_inline]] void add(const typename U::Ints (&magnitudes)[N], std::uint32_t from) {
        const auto limit = U::ints(limitOf(from));
        TallyLanes<U>& kept = lanes<U>();
        TallyLanes<U> lanes = kept;
        for (std::size_t n = 0; n < N; ++n) lanes.add(U::subtract(magnitudes[n], limit));
        kept = lanes;
    }

    void addTo(Tally& tally, std::uint32_t from, std::size_t elements) const {
        tally.above += elements;
        wide_.addTo(tally, limitOf(from));
        single_.addTo(tally, limitOf(from));
    }

  private:
    /// A bound above 2³¹ is above all magnitudes.
    static std::uint32_t limitOf(std::uint32_t from) { return std::min(from, kMagnitude + 1); }

    template <class U>
    TallyLanes<U>& lanes() {
        if constexpr (std::is_same_v<U, V>)
            return wide_;
        else
            return single_;
    }

    TallyLanes<V> wide_;
    TallyLanes<Scalar> single_;
};

/// Computes elements [begin, end), which no cutoff divides. @param first index of element 0, for draws
template <class V, DType D, bool Tallied, bool Elects>
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
            Floats sum[N], unchanged[N];
            const auto read = [offset](const std::byte* from, Floats(&x)[N]) __attribute__((always_inline)) {
                fetchAhead<N * U::lanes * sizeOf(D)>(from + offset);
                loadVectors<U, D, D>(from + offset, x);
            };
            read(base, unchanged);
            for (std::size_t n = 0; n < N; ++n) sum[n] = unchanged[n];
            const auto prune = [&](std::size_t t, Floats(&x)[N]) __attribute__((always_inline)) {
                const PrunedSource& source = sources[t];
                typename U::Ints magnitudes[N];
                typename U::Mask isKept[N];
                read(source.data, x);
                for (std::size_t n = 0; n < N; ++n) x[n] = U::subtract(x[n], unchanged[n]);
                if (isExact)
                    for (std::size_t n = 0; n < N; ++n) x[n] = canonical<U>(x[n]);
                for (std::size_t n = 0; n < N; ++n) {
                    magnitudes[n] = U::both(U::asInts(x[n]), U::ints(kMagnitude));
                    largest.addMagnitude(magnitudes[n]);
                }
                if constexpr (Tallied) {
                    lower[t].template add<U>(magnitudes, kept[t].least);
                    if (hasUpper(t)) upper[t].template add<U>(magnitudes, kept[t].beyond);
                }
                if (source.draw == nullptr) {
                    const auto from = U::ints(kept[t].from()), more = U::ints(kept[t].more());
                    for (std::size_t n = 0; n < N; ++n)
                        isKept[n] = U::atMost(U::subtract(magnitudes[n], from), more);
                } else {
                    typename U::Ints words[N];
                    drawWords<U, D, D, N>(source.draw->key, first + i, words);
                    for (std::size_t n = 0; n < N; ++n) isKept[n] = isDrawn<U>(*source.draw, words[n]);
                }
                scaleBy<U>(source.scale, x);
                for (std::size_t n = 0; n < N; ++n)
                    x[n] = U::asFloats(U::select(isKept[n], U::asInts(x[n]), U::ints(0)));
            };
            if constexpr (Elects) {
                Floats changes[kMostChanges][N];
                for (std::size_t t = 0; t < applied.terms; ++t) prune(t, changes[t]);
                const auto change = [&](std::size_t t, Floats(&x)[N]) __attribute__((always_inline)) {
                    for (std::size_t n = 0; n < N; ++n) x[n] = changes[t][n];
                };
                addChanges<U, true>(applied, change, sum);
            } else {
                addChanges<U, false>(applied, prune, sum);
            }
            for (std::size_t n = 0; n < N; ++n) largest.add(sum[n]);
            storeVectors<U, D, D>(sum, out + offset);
        });
    if constexpr (Tallied)
        for (std::size_t t = 0; t < applied.terms; ++t) {
            lower[t].addTo(tallies[t].lower, kept[t].least, end - begin);
            if (hasUpper(t)) upper[t].addTo(tallies[t].upper, kept[t].beyond, end - begin);
        }
    return isFinite;
}

template <class V, DType D>
bool consensus(const std::byte* base, const PrunedSource* sources, const float* weights, std::size_t terms,
               const VoteRule& rule, std::uint64_t first, std::byte* out, std::size_t count, Tallies* tallies) {
    const AppliedRule applied(rule, weights, terms);
    const auto between = tallies == nullptr
                             ? rule.elects ? consensusBetween<V, D, false, true> : consensusBetween<V, D, false, false>
                         : rule.elects ? consensusBetween<V, D, true, true> : consensusBetween<V, D, true, false>;
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
