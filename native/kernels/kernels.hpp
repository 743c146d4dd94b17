#pragma once
#include <cstddef>
#include <cstdint>

#include "dtype.hpp"

namespace layerloom {

/// Lanes along a row: two of the widest vectors, so that additions are independent.
inline constexpr std::size_t kLanes = 32;

/// Magnitudes as float32 bits. `all` is the bitwise or of all. `least` is the smallest nonzero magnitude, minus 1 (2³¹
/// − 1 if all are 0). `most` is the largest.
struct MagnitudeBits {
    std::uint32_t all, least, most;
};

/// A position in the order of elements by magnitude, largest first. Elements of exactly this magnitude are
/// above the position if their index is below `cutoff` (with `early`) or at least `cutoff` (without).
struct Bound {
    std::uint32_t bits;  ///< a magnitude as a float32
    std::uint64_t cutoff;
    bool early;
};

/// Bits of a bound that no element exceeds.
inline constexpr std::uint32_t kNoMagnitude = 0xFFFF'FFFFu;

/// Maximum number of magnitudes counted beside the bins, because a search may end at frequent ones.
inline constexpr std::size_t kCandidates = 4;

/// A range of magnitudes, as float32 bits, from `low` (> 0) to `last`, in bins of 2^shift consecutive values.
struct Window {
    std::uint32_t low, last, shift;
    std::uint32_t candidates[kCandidates];  ///< in the window; unused ones are above every magnitude
    std::size_t wanted;                     ///< candidates in use
};

/// The divisor of a sum of task vectors.
enum class Divisor : std::uint8_t { None, Weights, Count };

struct VoteRule {
    bool elects;       ///< only changes of the elected sign count
    bool weighted;     ///< the election weights changes
    bool tiePositive;  ///< elects positive if changes cancel
    Divisor divisor;   ///< over the changes that count
    float least;       ///< lower limit of the divisor; 0: a divisor of 0 becomes 1
    float scale;       ///< factor of the sum that is added to the base
    /// True counts changes of both signs, except 0 and NaN. A second list of weights then follows, for
    /// elements that only one input changes.
    bool each = false;
};

/// Number of magnitudes in a table of exponentials: the bfloat16 numbers of 14 exponents.
inline constexpr std::uint32_t kTabled = 14 * 128;

/// Exponentials of bfloat16 numbers: of kTabled magnitudes in order, from the one with upper bits `low` on;
/// then of 0; then an unused entry. The second half has the same for negative numbers.
struct ExponentialTable {
    std::uint32_t low;
    double values[2 * (kTabled + 2)];
};

inline constexpr std::size_t kMostChanges = 64;

/// Keeps an element if its random word (see `randoms`) is at most `last`.
struct Draw {
    std::uint64_t key;
    std::uint32_t last;
};

/// A change from a base, pruned as by `keep` or, if it has a draw, as by `drop`.
struct PrunedSource {
    const std::byte* data;
    Bound lower, upper;
    float scale;
    const Draw* draw = nullptr;
};

/// Counts and magnitudes of elements near a guessed bound, with which a wrong guess is corrected.
struct Tally {
    std::uint64_t above = 0;             ///< number of elements above the bound
    std::uint32_t least = kNoMagnitude;  ///< smallest magnitude above the bound
    std::uint32_t most = 0;              ///< largest magnitude that is not above the bound

    void add(const Tally& other) {
        above += other.above;
        least = std::min(least, other.least);
        most = std::max(most, other.most);
    }
};

/// Tallies of both bounds. An upper bound that no element exceeds is not tallied.
struct Tallies {
    Tally lower, upper;
};

/// Sums over elements that are finite in both tiles. Element i is in lane i % kLanes. The order of sums is
/// fixed, so they are equal on every instruction set.
struct DifferenceLanes {
    double largest[kLanes];         ///< max |a − b|
    double absolute[kLanes];        ///< Σ |a − b|
    double squares[kLanes];         ///< Σ (a − b)²
    double squaresOfFirst[kLanes];  ///< Σ a²
};

struct DifferenceCounts {
    std::uint64_t unequal;    ///< as numbers: +0 equals −0, and NaN equals NaN
    std::uint64_t nonFinite;  ///< in at least one tile
};

/// Ranks summed before adding to the sum of earlier ranks. Part of the numeric contract.
inline constexpr std::size_t kProductRanks = 16;

/// Factors of a product for some ranks, which start at a multiple of kProductRanks.
struct ProductPanels {
    const float* left;        ///< [row][rank]
    std::size_t leftStride;   ///< elements from a row to the next
    const float* right;       ///< [rank][column]
    std::size_t rightStride;  ///< elements from a rank to the next
    std::size_t ranks;        ///< at least 1
};

/// Columns of a panel. Column 16p + j of row k is at [(p·rows + k)·16 + j], padded with zeros.
inline constexpr std::size_t kPanel = 16;

/// sums[i][j] += Σₖ a(i, k)·b(k, j).
template <class Number>
struct PanelProduct {
    const Number* a;  ///< a(i, k) is a[i · across + k · along]
    std::size_t across, along;
    std::size_t rows, depth;
    const Number* b;  ///< row k of panel p is at b[p · panel + k · kPanel]
    std::size_t panel, panels;
    double* sums;  ///< [row][16 · panels]
};

/// Arguments of `linear`, with at least one term.
struct Terms {
    const std::byte* const* sources;
    const float* weights;
    std::size_t count;
};

/// Number of signs in a word: element i is bit i % kInWord of word i / kInWord.
inline constexpr std::size_t kInWord = 64;

/// A tile to compare with others of its length. Bits beyond its end are 0.
struct SignedTile {
    float* x;
    std::uint64_t* nonZero;   ///< elements that are not 0
    std::uint64_t* negative;  ///< elements whose sign bit is set
    /// True if a product with another plain tile is never NaN, and is 0 only if a factor is: all elements are
    /// finite, and none except 0 is below 2⁻⁷⁴.
    bool isPlain;
};

/// Tables are indexed by DType. Entries of F64 are null (see linear.cpp), except in isFinite.
struct Kernels {
    const char* isa;

    /// out[i] = round(weights[0]·sources[0][i] + weights[1]·sources[1][i] + …) over `terms` sources of one
    /// dtype, at least one, by the numeric contract (docs/numbers.md). Products are never contracted.
    /// Pointers need no alignment.
    ///
    /// Takes a single pass, at memory speed if data is not in a cache. Returns true if all results are
    /// finite.
    bool (*linear[kDTypes][kDTypes])(const std::byte* const* sources, const float* weights, std::size_t terms,
                                     std::byte* out, std::size_t count);

    /// sums[c] += |x[r][c]| in float64, rows in order. x is the float32 sum of `linear`, kept in registers.
    /// Row r of a source starts at element r·stride.
    void (*columnMagnitudes[kDTypes])(const Terms& terms, std::size_t rows, std::size_t stride, double* sums,
                                      std::size_t count);

    /// Adds |x[i]| to lanes[i % kLanes], where x is the sum that `linear` computes. The order is fixed, so
    /// bits are equal on every instruction set. With a draw, elements that it drops count as 0; `first` is
    /// the index of the tile's first element.
    void (*laneMagnitudes[kDTypes])(const Terms& terms, const Draw* draw, float scale, std::uint64_t first,
                                    double* lanes, std::size_t count);

    /// Counts the sum x of `linear` in bins, except candidates. Adds the number of each candidate to `exact`.
    /// Returns how many are above the window. NaN is canonical. Only elements in bins take scalar steps.
    std::uint64_t (*histogram[kDTypes])(const Terms& terms, const Window& window, std::uint32_t* bins,
                                        std::uint64_t* exact, std::size_t count);

    /// For each pair i ≤ j of tiles, in order: lanes[pair][e % kLanes] += x[i][e]·x[j][e]. Sums eight
    /// products of a lane in float32, then widens: seven digits are enough to compare directions. Tiles of a
    /// few KB stay in the L1 cache, and sums of nine pairs in registers.
    void (*products)(const float* const* x, std::size_t values, double (*lanes)[kLanes], std::size_t count);

    /// Makes a signed tile of the sum x of `linear`, with canonical NaN.
    void (*signedTile[kDTypes])(const Terms& terms, SignedTile& tile, std::size_t count);

    /// For each pair i < j of tiles, at its position among pairs i ≤ j: counts[pair][0] += nonzero products,
    /// counts[pair][1] += positive ones.
    void (*agreements)(const SignedTile* tiles, std::size_t values, std::uint64_t (*counts)[2],
                       std::size_t count);

    /// Compares two tiles, widened to float64, and adds the results.
    void (*difference)(const float* a, const float* b, DifferenceLanes& lanes, DifferenceCounts& counts,
                       std::size_t count);

    /// out[i] = x[i]·scale if the magnitude of key[i] is above `lower` and not above `upper`, otherwise 0.
    /// `first` is the index of the tile's first element, for ties.
    void (*keep)(const float* x, const float* key, const Bound& lower, const Bound& upper, float scale,
                 std::uint64_t first, float* out, std::size_t count);

    /// out[i]: 32 random bits of element first + i (SplitMix64 of `key` and the index).
    void (*randoms)(std::uint64_t key, std::uint64_t first, std::uint32_t* out, std::size_t count);

    /// out[i] = x[i]·scale if `draw` keeps element first + i, otherwise 0.
    void (*drop)(const float* x, const Draw& draw, float scale, std::uint64_t first, float* out,
                 std::size_t count);

    /// out[i] = base[i] + scale·(Σ weight·change, in order) / divisor, over changes that `rule` counts. If
    /// the rule elects, changes of 0 never count. Returns true if all results are finite.
    bool (*vote[kDTypes])(const float* base, const float* const* changes, const float* weights,
                          std::size_t terms, const VoteRule& rule, std::byte* out, std::size_t count);

    /// Like `vote`, over sources of the output's dtype, in one pass: change t is sources[t] − base, rounded
    /// to float32 and pruned. `first` is as for `keep`. At most kMostChanges terms. Null for F64 and one-byte
    /// dtypes.
    ///
    /// Returns true if all changes, also pruned ones, and all results are finite; may return false if a
    /// change is nearly the dtype's largest number. Adds to `tallies`, if not null; they are undefined if
    /// false is returned.
    bool (*consensus[kDTypes])(const std::byte* base, const PrunedSource* sources, const float* weights,
                               std::size_t terms, const VoteRule& rule, std::uint64_t first, std::byte* out,
                               std::size_t count, Tallies* tallies);

    /// out[i] = population variance of x[0][i], x[1][i], …, in float64, rounded once.
    void (*variance)(const float* const* x, std::size_t terms, float* out, std::size_t count);

    /// NearSwap: moves a[i] towards b[i] by at most t. out[i] = a + (b − a)·w with w = clamp(t / |a − b|, 0,
    /// 1), computed as w·b + (1 − w)·a.
    void (*nearSwap)(const float* a, const float* b, float t, float* out, std::size_t count);

    /// out[i] = Σ w[t][i]·x[t][i] / Σ w[t][i] with w[t][i] = weights[t]·(importances[t][i] + eps), in order,
    /// in float32. NaN if an importance is below 0.
    void (*fisher)(const float* const* x, const float* const* importances, const float* weights,
                   std::size_t terms, float eps, float* out, std::size_t count);

    /// out[i] = Σ weights[t][i]·x[t][i], terms in order.
    void (*linearColumns)(const float* const* x, const float* const* weights, std::size_t terms, float* out,
                          std::size_t count);

    /// F64 has an entry too.
    bool (*isFinite[kDTypes])(const std::byte* x, std::size_t count);

    /// out[i] = the bits of |x[i]|.
    MagnitudeBits (*magnitudes)(const float* x, std::uint32_t* out, std::size_t count);

    void (*countAlone)(const float* const* x, std::size_t terms, std::uint32_t bits, std::uint64_t* counts,
                       std::size_t count);
    std::uint64_t (*countMagnitude)(const float* x, std::uint32_t bits, std::size_t count);

    /// out[row][column] = Σ left[row][k]·right[k][column]. Within blocks of kProductRanks, sums in order of k
    /// from the first product, then over blocks in order. `adds` adds to the previous content. NaN is
    /// canonical.
    void (*product)(const ProductPanels& panels, std::size_t rows, std::size_t columns, bool adds, float* out,
                    std::size_t outStride);

    /// out[i] *= scales[(first + i) / width]; `first` < `width`.
    void (*scaleRuns)(const float* scales, std::size_t width, std::size_t first, float* out,
                      std::size_t count);

    /// out[i] = scales[i] times the E2M1 code in the upper or lower half of bytes[i].
    void (*scaleHalves)(const std::uint8_t* bytes, bool upper, const float* scales, float* out,
                        std::size_t count);

    /// Elements above 0 minus elements below; NaN does not count.
    std::int64_t (*sumSigns)(const float* x, std::size_t count);

    /// Sums rounded products in float32, in order of k from 0, then widens and adds. So the depth of a call
    /// bounds the error.
    void (*addProduct)(const PanelProduct<float>& product);

    /// Like `addProduct`, in float64 throughout.
    void (*addWideProduct)(const PanelProduct<double>& product);

    /// out[i] = exp(x[i] − most); `most` must be at least every x[i].
    ///
    /// @param table for `most`, which makes this faster with the same bits; or null
    void (*exponentials)(const float* x, float most, const ExponentialTable* table, double* out,
                         std::size_t count);

    /// out[i] = p·ln(p/q) with p = a[i]/sumA + 10⁻⁸ and q = b[i]/sumB + 10⁻⁸. `out` may be `a`.
    void (*divergences)(const double* a, double sumA, const double* b, double sumB, double* out,
                        std::size_t count);
};

}  // namespace layerloom
