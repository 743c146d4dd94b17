#pragma once
#include <cstddef>
#include <cstdint>

#include "dtype.hpp"

namespace layerloom {

/// Sums along a row are kept in so many lanes: two of the widest vectors, so that one addition need not wait
/// for the other.
inline constexpr std::size_t kLanes = 32;

/// A place in the order of a tensor's elements by magnitude, largest first: between those above it and the
/// others. Elements of exactly the bound's magnitude are above it where their index is before `cutoff`
/// (early), or from it on (not early): that is how ties are broken by index.
struct Bound {
    std::uint32_t bits;  ///< a magnitude as a float32
    std::uint64_t cutoff;
    bool early;
};

/// Bits of a bound that no element is above.
inline constexpr std::uint32_t kNoMagnitude = 0xFFFF'FFFFu;

/// Magnitudes that a search may end at, because many elements have them, are counted apart from the bins.
inline constexpr std::size_t kCandidates = 4;

/// Magnitudes from `low` on to `last`, in bins of 2^shift neighbouring float32. `low` is not 0.
struct Window {
    std::uint32_t low, last, shift;
    std::uint32_t candidates[kCandidates];  ///< within the window; the others are above every magnitude
    std::size_t wanted;                     ///< candidates in use
};

/// The divisor of a sum of task vectors.
enum class Divisor : std::uint8_t { None, Weights, Count };

/// A rule for combining task vectors (TIES, DARE, DELLA, breadcrumbs, SCE).
struct VoteRule {
    bool elects;       ///< only changes of the elected sign count
    bool weighted;     ///< the election is of weighted changes
    bool tiePositive;  ///< the sign where changes cancel
    Divisor divisor;   ///< over the changes that count
    float least;       ///< lower limit of the divisor; 0: a divisor of 0 is taken as 1
    float scale;       ///< multiplies the sum that is added to the base
};

/// Limit on the changes of one vote.
inline constexpr std::size_t kMostChanges = 64;

/// Elements whose change from a base is pruned: multiplied by `scale` where its magnitude is above `lower`
/// and not above `upper`, else 0.
struct PrunedSource {
    const std::byte* data;
    Bound lower, upper;
    float scale;
};

/// What lies at a bound in the order of magnitudes: a bound that was guessed is corrected by it.
struct Tally {
    std::uint64_t above = 0;             ///< elements above the bound
    std::uint32_t least = kNoMagnitude;  ///< the least magnitude of these
    std::uint32_t most = 0;              ///< the largest magnitude of the others

    void add(const Tally& other) {
        above += other.above;
        least = std::min(least, other.least);
        most = std::max(most, other.most);
    }
};

/// Tallies of the bounds of a pruned source. An upper bound that no element is above is not tallied.
struct Tallies {
    Tally lower, upper;
};

/// What a comparison finds of elements that are finite in both tiles, by lane: element i of a tile is lane
/// i % kLanes. All are float64 and added in order, so that they are the same on every instruction set.
struct DifferenceLanes {
    double largest[kLanes];         ///< max |a − b|
    double absolute[kLanes];        ///< Σ |a − b|
    double squares[kLanes];         ///< Σ (a − b)²
    double squaresOfFirst[kLanes];  ///< Σ a²
};

/// Elements that a comparison counts.
struct DifferenceCounts {
    std::uint64_t unequal;    ///< as numbers: zeros of either sign are equal, and so are two NaN
    std::uint64_t nonFinite;  ///< in one of the two at least
};

/// Ranks whose products are summed before that sum is added to those of earlier ranks: part of the contract.
inline constexpr std::size_t kProductRanks = 16;

/// Float32 of a product's factors, for some of its ranks: from a multiple of kProductRanks on.
struct ProductPanels {
    const float* left;        ///< [row][rank]
    std::size_t leftStride;   ///< elements from a row to the next
    const float* right;       ///< [rank][column]
    std::size_t rightStride;  ///< elements from a rank to the next
    std::size_t ranks;        ///< at least 1
};

/// Columns of a panel: a matrix in panels has column 16p + j of row k at [(p · rows + k) · 16 + j], its last
/// columns filled with zeros.
inline constexpr std::size_t kPanel = 16;

/// A product of matrices to add: sums[i][j] += Σₖ a(i, k) · b(k, j).
template <class Number>
struct PanelProduct {
    const Number* a;  ///< a(i, k) is a[i · across + k · along]
    std::size_t across, along;
    std::size_t rows, depth;
    const Number* b;  ///< row k of panel p is at b[p · panel + k · kPanel]
    std::size_t panel, panels;
    double* sums;  ///< [row][16 · panels]
};

/// Σ weights[t]·sources[t], of sources of one dtype: the arguments of `linear`. At least one term.
struct Terms {
    const std::byte* const* sources;
    const float* weights;
    std::size_t count;
};

/// Elements whose signs a word tells: element i is bit i % kInWord of word i / kInWord.
inline constexpr std::size_t kInWord = 64;

/// A tile of float32 to compare with others of its length. Bits beyond its end are 0.
struct SignedTile {
    float* x;
    std::uint64_t* nonZero;   ///< elements that are not 0
    std::uint64_t* negative;  ///< elements whose sign bit is set
    /// A product with an element of another plain tile is 0 only where one of the two is, and never NaN: all
    /// are finite, and none but 0 is below 2⁻⁷⁴.
    bool isPlain;
};

/// The kernels of one instruction set. Tables are indexed by DType; entries of F64 are null, see linear.cpp,
/// but for isFinite.
struct Kernels {
    const char* isa;

    /// out[i] = round(weights[0]·sources[0][i] + weights[1]·sources[1][i] + …) for `count` elements: `terms`
    /// sources of one dtype, widened to float32; each product rounded before it is added (never contracted);
    /// the sum rounded once to the output's dtype, NaN made canonical. At least one term. Pointers need no
    /// alignment.
    ///
    /// Reads every byte once and writes every byte once, in one pass: out of cache it runs at the memory's
    /// speed. Returns true if all results are finite.
    bool (*linear[kDTypes][kDTypes])(const std::byte* const* sources, const float* weights, std::size_t terms,
                                     std::byte* out, std::size_t count);

    /// sums[c] += |x[r][c]| in float64, rows in order, where x is `linear`'s sum in float32: it is taken in
    /// registers, and never stored. Row r of a source begins at its element r·stride.
    void (*columnMagnitudes[kDTypes])(const Terms& terms, std::size_t rows, std::size_t stride, double* sums,
                                      std::size_t count);

    /// lanes[i % kLanes] += |x[i]| of the same x, in order: the same sums on every instruction set.
    void (*laneMagnitudes[kDTypes])(const Terms& terms, double* lanes, std::size_t count);

    /// Adds to each bin the magnitudes of the same x, candidates left out; to `exact` how many have each
    /// candidate's; and returns how many are above the window. NaN are canonical. Only what goes to a bin is
    /// looked at one by one.
    std::uint64_t (*histogram[kDTypes])(const Terms& terms, const Window& window, std::uint32_t* bins,
                                        std::uint64_t* exact, std::size_t count);

    /// For each pair i ≤ j of `values` tiles, in order: lanes[pair][e % kLanes] += x[i][e]·x[j][e]. Eight
    /// float32 products of a lane are summed in float32, and their sum is widened. For comparing directions,
    /// where seven digits are plenty. Tiles of a few KB stay in the L1 cache, sums of nine pairs in registers.
    void (*products)(const float* const* x, std::size_t values, double (*lanes)[kLanes], std::size_t count);

    /// Makes a tile of the same x as `columnMagnitudes`, NaN canonical.
    void (*signedTile[kDTypes])(const Terms& terms, SignedTile& tile, std::size_t count);

    /// For each pair i ≤ j of `values` tiles, in order, but i = j: counts[pair][0] += elements whose product is
    /// not 0, counts[pair][1] += those of them where it is positive.
    void (*agreements)(const SignedTile* tiles, std::size_t values, std::uint64_t (*counts)[2],
                       std::size_t count);

    /// Compares two tiles, and adds what it finds. Differences are of the widened elements, in float64.
    void (*difference)(const float* a, const float* b, DifferenceLanes& lanes, DifferenceCounts& counts,
                       std::size_t count);

    /// out[i] = x[i]·scale where the magnitude of key[i] is above `lower` and not above `upper`, else 0.
    /// `first` is the index of the tile's first element, for ties.
    void (*keep)(const float* x, const float* key, const Bound& lower, const Bound& upper, float scale,
                 std::uint64_t first, float* out, std::size_t count);

    /// out[i]: 32 random bits of element first + i, by a counter-based generator (SplitMix64 of `key` and the
    /// index).
    void (*randoms)(std::uint64_t key, std::uint64_t first, std::uint32_t* out, std::size_t count);

    /// out[i] = base[i] + scale·Σ (weight·change of those that count) / divisor, terms in order, rounded once
    /// more to the output's dtype. A change of 0 never agrees with an elected sign. Returns true if all
    /// results are finite.
    bool (*vote[kDTypes])(const float* base, const float* const* changes, const float* weights,
                          std::size_t terms, const VoteRule& rule, std::byte* out, std::size_t count);

    /// The same over sources of the output's dtype, in one pass: change t is sources[t] − base rounded to
    /// float32 and pruned; `first` is as for `keep`. At most kMostChanges terms. Null for F64 and dtypes of a
    /// byte. Returns true if all changes, pruned ones too, and all results are finite; it may return false
    /// where a change is nearly the largest number of its dtype. Adds to `tallies`, unless null one for each
    /// source, what lies at its bounds; where false is returned, they are undefined.
    bool (*consensus[kDTypes])(const std::byte* base, const PrunedSource* sources, const float* weights,
                               std::size_t terms, const VoteRule& rule, std::uint64_t first, std::byte* out,
                               std::size_t count, Tallies* tallies);

    /// out[i] = population variance of x[0][i], x[1][i], …, in float64 and rounded once.
    void (*variance)(const float* const* x, std::size_t terms, float* out, std::size_t count);

    /// out[i] = a + (b − a)·clamp(t / |a − b|, 0, 1), as w·b + (1 − w)·a.
    void (*nearSwap)(const float* a, const float* b, float t, float* out, std::size_t count);

    /// out[i] = Σ w[t][i]·x[t][i] / Σ w[t][i], w[t][i] = weights[t]·(importances[t][i] + eps): terms in order,
    /// each operation in float32. NaN where an importance is below 0.
    void (*fisher)(const float* const* x, const float* const* importances, const float* weights,
                   std::size_t terms, float eps, float* out, std::size_t count);

    /// out[i] = Σ weights[t][i]·x[t][i], terms in order.
    void (*linearColumns)(const float* const* x, const float* const* weights, std::size_t terms, float* out,
                          std::size_t count);

    /// True if no element is NaN or infinite. Also of F64.
    bool (*isFinite[kDTypes])(const std::byte* x, std::size_t count);

    /// How many elements have exactly this magnitude.
    std::uint64_t (*countMagnitude)(const float* x, std::uint32_t bits, std::size_t count);

    /// out[row][column] = Σ left[row][k]·right[k][column]: ranks k in order, starting from the first product,
    /// within blocks of kProductRanks, whose sums are added in order; with `adds` they are added to what
    /// stands there. NaN are canonical. Rows of `out` are `outStride` elements apart.
    void (*product)(const ProductPanels& panels, std::size_t rows, std::size_t columns, bool adds, float* out,
                    std::size_t outStride);

    /// out[i] *= scales[(first + i) / width]: runs of `width` elements have a scale each; `first`, below
    /// `width`, is where in the first run the tile begins.
    void (*scaleRuns)(const float* scales, std::size_t width, std::size_t first, float* out,
                      std::size_t count);

    /// out[i] = the number of a code times scales[i], of codes of E2M1 in the upper or the lower half of
    /// bytes[i].
    void (*scaleHalves)(const std::uint8_t* bytes, bool upper, const float* scales, float* out,
                        std::size_t count);

    /// Elements above 0 less those below: the sum of signs. Zeros and NaN have none.
    std::int64_t (*sumSigns)(const float* x, std::size_t count);

    /// Adds a product. Products are rounded, and their sum over k is taken in order from 0, in float32; it is
    /// then widened and added: so a caller bounds the error by the depth of a call.
    void (*addProduct)(const PanelProduct<float>& product);

    /// The same in float64 throughout.
    void (*addWideProduct)(const PanelProduct<double>& product);
};

}  // namespace layerloom
