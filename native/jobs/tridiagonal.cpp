#include "tridiagonal.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace layerloom {
namespace {

/// Columns that are reduced before the rest is updated: a divisor of kTileColumns. Part of the numeric
/// contract, like the lanes.
constexpr std::size_t kBlock = 32;
constexpr std::size_t kInLanes = 8;
constexpr std::size_t kTogether = 8;
/// Number of bisections, enough to halve any interval down to precision.
constexpr int kBisections = 56;
constexpr int kInverseIterations = 2;
constexpr double kPrecision = 0x1p-52;
/// Key of the random starting vectors for inverse iterations.
constexpr std::uint64_t kKey = 0x5453564D;

/// Returns the inner product. Element i goes to lane i % kInLanes; lanes are summed in order.
double inner(const double* a, const double* b, std::size_t count) {
    double lanes[kInLanes] = {};
    std::size_t i = 0;
    for (; i + kInLanes <= count; i += kInLanes)
        for (std::size_t lane = 0; lane < kInLanes; ++lane) lanes[lane] += a[i + lane] * b[i + lane];
    for (std::size_t lane = 0; lane < count % kInLanes; ++lane) lanes[lane] += a[i + lane] * b[i + lane];
    double sum = 0;
    for (const double lane : lanes) sum += lane;
    return sum;
}

/// to += by·from
void add(double by, const double* from, std::size_t count, double* to) {
    for (std::size_t i = 0; i < count; ++i) to[i] += by * from[i];
}

/// Returns inner(row, left, count) and, in the same pass, does to += by·row.
double innerAndAdd(const double* __restrict row, const double* __restrict left, double by, std::size_t count,
                   double* __restrict to) {
    double lanes[kInLanes] = {};
    std::size_t i = 0;
    for (; i + kInLanes <= count; i += kInLanes)
        for (std::size_t lane = 0; lane < kInLanes; ++lane) {
            lanes[lane] += row[i + lane] * left[i + lane];
            to[i + lane] += by * row[i + lane];
        }
    for (std::size_t lane = 0; lane < count % kInLanes; ++lane) {
        lanes[lane] += row[i + lane] * left[i + lane];
        to[i + lane] += by * row[i + lane];
    }
    double sum = 0;
    for (const double lane : lanes) sum += lane;
    return sum;
}

}  // namespace

/// Makes the reflector that maps the numbers after the diagonal to a multiple of the first axis.
void Tridiagonal::reflect(std::size_t column, std::vector<double>& numbers, double* reflector) {
    const std::size_t next = column + 1, behind = next + 1;
    const double first = numbers[next];
    const double squares = inner(&numbers[next] + 1, &numbers[next] + 1, size_ - behind);
    reflector[next] = 1;
    if (squares == 0) {
        beside_[column] = first;
        factors_[column] = 0;
    } else {
        const double length = std::sqrt(first * first + squares), turned = first > 0 ? -length : length;
        beside_[column] = turned;
        factors_[column] = (turned - first) / turned;
        for (std::size_t i = behind; i < size_; ++i) reflector[i] = numbers[i] / (first - turned);
    }
    for (std::size_t i = next; i < size_; ++i) a_.at(i, column) = reflector[i];
}

void Tridiagonal::multiply(const double* vector, std::size_t first, double* product) {
    std::fill_n(product, size_, 0.0);
    const std::size_t from = first / kTileColumns;
    for (std::size_t i = from; i < a_.tiles(); ++i) {
        const std::size_t start = i * kTileColumns, rows = std::min(kTileColumns, size_ - start);
        for (std::size_t j = from; j < i; ++j) {
            const double* const tile = a_.tile(i, j);
            const std::size_t column = j * kTileColumns;
            for (std::size_t row = 0; row < rows; ++row)
                product[start + row] += innerAndAdd(tile + row * kTileColumns, vector + column, vector[start + row],
                                                    kTileColumns, product + column);
        }
        const double* const tile = a_.tile(i, i);
        for (std::size_t row = 0; row < rows; ++row) {
            const double* const numbers = tile + row * a_.width(i);
            const double of = vector[start + row];
            product[start + row] += innerAndAdd(numbers, vector + start, of, row, product + start) + numbers[row] * of;
        }
    }
}

Outcome Tridiagonal::update(const Kernels& kernels, const std::vector<double>& panel, std::size_t first,
                            const Control& control) {
    constexpr std::size_t depth = 2 * kBlock;
    std::vector<double> packed(kTileColumns * depth);
    for (std::size_t j = first / kTileColumns; j < a_.tiles(); ++j) {
        if (control.cancelled()) return Outcome::Cancelled;
        const std::size_t width = a_.width(j), column = j * kTileColumns;
        double* to = packed.data();
        for (std::size_t at = 0; at < width; at += kPanel)
            for (std::size_t k = 0; k < depth; ++k)
                for (std::size_t i = column + at; i < column + at + kPanel; ++i)
                    // Columns before `first` now hold reflectors; a factor of 0 leaves them unchanged.
                    *to++ = i < first || i >= size_ ? 0 : -panel[(k + kBlock) % depth * size_ + i];
        for (std::size_t i = j; i < a_.tiles(); ++i) {
            const std::size_t start = i * kTileColumns;
            kernels.addWideProduct({panel.data() + start, 1, size_, std::min(kTileColumns, size_ - start), depth,
                                    packed.data(), depth * kPanel, width / kPanel, a_.tile(i, j)});
        }
    }
    return Outcome::Done;
}

Outcome Tridiagonal::reduce(const Kernels& kernels, const Control& control) {
    std::vector<double> numbers(size_);
    for (std::size_t first = 0; first < size_; first += kBlock) {
        if (control.cancelled()) return Outcome::Cancelled;
        std::vector<double> panel(2 * kBlock * size_);  // V, followed by W
        const auto v = [&](std::size_t k) { return panel.data() + k * size_; };
        const auto w = [&](std::size_t k) { return panel.data() + (kBlock + k) * size_; };
        for (std::size_t k = 0; k < kBlock && first + k < size_; ++k) {
            const std::size_t column = first + k, next = column + 1;
            for (std::size_t i = column; i < size_; ++i) numbers[i] = a_.at(i, column);
            for (std::size_t before = 0; before < k; ++before) {
                add(-w(before)[column], v(before) + column, size_ - column, &numbers[column]);
                add(-v(before)[column], w(before) + column, size_ - column, &numbers[column]);
            }
            diagonal_[column] = numbers[column];
            if (next == size_) break;
            reflect(column, numbers, v(k));
            if (factors_[column] == 0) continue;
            multiply(v(k), next, w(k));
            const std::size_t count = size_ - next;
            double* const product = w(k) + next;
            std::fill_n(w(k), next, 0.0);
            for (std::size_t before = 0; before < k; ++before) {
                const double ofW = inner(w(before) + next, v(k) + next, count);
                const double ofV = inner(v(before) + next, v(k) + next, count);
                add(-ofW, v(before) + next, count, product);
                add(-ofV, w(before) + next, count, product);
            }
            for (std::size_t i = 0; i < count; ++i) product[i] *= factors_[column];
            const double along = inner(product, v(k) + next, count);
            add(-0.5 * factors_[column] * along, v(k) + next, count, product);
        }
        if (first + kBlock >= size_) break;
        const Outcome outcome = update(kernels, panel, first + kBlock, control);
        if (outcome != Outcome::Done) return outcome;
    }
    return Outcome::Done;
}

std::vector<double> Tridiagonal::leading(std::size_t count) const {
    // Bounds eigenvalues by Gershgorin's circles.
    double low = 0, high = 0;
    for (std::size_t i = 0; i < size_; ++i) {
        const double radius = std::abs(beside_[i]) + (i > 0 ? std::abs(beside_[i - 1]) : 0);
        low = std::min(low, diagonal_[i] - radius);
        high = std::max(high, diagonal_[i] + radius);
    }
    const double least = kPrecision * kPrecision * std::max(-low, high);
    std::vector<double> values(count);
    for (std::size_t first = 0; first < count; first += kTogether) {
        double lower[kTogether], upper[kTogether], middle[kTogether], pivot[kTogether];
        std::fill_n(lower, kTogether, low);
        std::fill_n(upper, kTogether, high);
        for (int time = 0; time < kBisections; ++time) {
            // By Sylvester's law, the number of eigenvalues above `middle` is the number of positive pivots
            // of T − middle.
            double above[kTogether] = {};
            for (std::size_t at = 0; at < kTogether; ++at) {
                middle[at] = lower[at] + (upper[at] - lower[at]) / 2;
                pivot[at] = 1;
            }
            for (std::size_t i = 0; i < size_; ++i) {
                const double square = i > 0 ? beside_[i - 1] * beside_[i - 1] : 0;
                for (std::size_t at = 0; at < kTogether; ++at) {
                    const double number = diagonal_[i] - middle[at] - square / pivot[at];
                    pivot[at] = std::abs(number) < least ? -least : number;
                    above[at] += pivot[at] > 0 ? 1 : 0;
                }
            }
            for (std::size_t at = 0; at < kTogether; ++at)
                (above[at] > static_cast<double>(first + at) ? lower : upper)[at] = middle[at];
        }
        for (std::size_t at = 0; at < kTogether && first + at < count; ++at) values[first + at] = middle[at];
    }
    return values;
}

void Tridiagonal::solve(double eigenvalue, double least, std::vector<double>& x) {
    // Gaussian elimination with row exchanges, after which U has a diagonal and two superdiagonals.
    double pivot = diagonal_[0] - eigenvalue, above = beside_[0];
    for (std::size_t i = 0; i + 1 < size_; ++i) {
        const double below = beside_[i];
        double nextPivot = diagonal_[i + 1] - eigenvalue, nextAbove = beside_[i + 1];
        double beyond = 0;
        if (std::abs(below) > std::abs(pivot)) {
            const double share = pivot / below;
            pivots_[i] = below, above_[i] = nextPivot, beyond_[i] = nextAbove;
            nextPivot = above - share * nextPivot;
            nextAbove = -share * nextAbove;
            std::swap(x[i], x[i + 1]);
            x[i + 1] -= share * x[i];
        } else {
            if (std::abs(pivot) < least) pivot = least;
            const double share = below / pivot;
            pivots_[i] = pivot, above_[i] = above, beyond_[i] = beyond;
            nextPivot -= share * above;
            x[i + 1] -= share * x[i];
        }
        pivot = nextPivot;
        above = nextAbove;
    }
    pivots_[size_ - 1] = std::abs(pivot) < least ? least : pivot;
    double next = 0, second = 0;
    for (std::size_t i = size_; i-- > 0;) {
        const double of = (x[i] - above_[i] * next - beyond_[i] * second) / pivots_[i];
        second = next;
        next = x[i] = of;
    }
}

Outcome Tridiagonal::vectorsOf(const std::vector<double>& eigenvalues, const Kernels& kernels, TiledRows& to,
                               const Control& control) {
    pivots_.assign(size_, 0);
    above_.assign(size_, 0);
    beyond_.assign(size_, 0);
    std::vector<std::uint32_t> words(size_);
    std::vector<double> x(size_);
    for (std::size_t at = 0; at < eigenvalues.size(); ++at) {
        if (control.cancelled()) return Outcome::Cancelled;
        kernels.randoms(kKey, at * size_, words.data(), size_);
        for (std::size_t i = 0; i < size_; ++i) x[i] = (words[i] + 0.5) * 0x1p-32 - 0.5;
        for (int time = 0; time < kInverseIterations; ++time) {
            solve(eigenvalues[at], kPrecision * eigenvalues[0], x);
            double most = 0;
            for (const double number : x) most = std::max(most, std::abs(number));
            for (double& number : x) number /= most;
            const double length = std::sqrt(inner(x.data(), x.data(), size_));
            for (double& number : x) number /= length;
        }
        for (std::size_t i = 0; i < size_; ++i) to.at(i, at) = x[i];
    }
    return turn(kernels, to, control);
}

Outcome Tridiagonal::turn(const Kernels& kernels, TiledRows& z, const Control& control) {
    std::vector<double> diagonalTile(kTileColumns * kTileColumns), packed(diagonalTile.size()),
        gram(diagonalTile.size()), sums(diagonalTile.size());
    const auto rowsOf = [&](std::size_t i) { return std::min(kTileColumns, size_ - i * kTileColumns); };
    // Together, the reflectors in a column of tiles are I − VSVᵀ. S⁻¹ is the upper half of VᵀV, with 1 /
    // factors on its diagonal.
    for (std::size_t j = a_.tiles(); j-- > 0;) {
        const std::size_t width = a_.width(j), first = j * kTileColumns, reflectors = rowsOf(j);
        for (std::size_t row = 0; row < width; ++row)
            for (std::size_t k = 0; k < width; ++k)
                diagonalTile[row * width + k] = row > k && row < reflectors ? a_.tile(j, j)[row * width + k] : 0;
        const auto v = [&](std::size_t i) { return i == j ? diagonalTile.data() : a_.tile(i, j); };
        const auto addTransposed = [&](std::size_t i, const double* of, std::size_t columns, double* to) {
            packPanels(of, rowsOf(i), columns, 1, packed.data());
            kernels.addWideProduct({v(i), 1, width, width, rowsOf(i), packed.data(), rowsOf(i) * kPanel,
                                    columns / kPanel, to});
        };
        std::fill(gram.begin(), gram.end(), 0.0);
        for (std::size_t i = j; i < a_.tiles(); ++i) addTransposed(i, v(i), width, gram.data());
        for (std::size_t column = 0; column < z.tiles(); ++column) {
            if (control.cancelled()) return Outcome::Cancelled;
            const std::size_t across = z.width(column);
            double* const of = z.tile(column);
            std::fill(sums.begin(), sums.end(), 0.0);
            for (std::size_t i = j; i < a_.tiles(); ++i)
                addTransposed(i, of + i * kTileColumns * across, across, sums.data());
            for (std::size_t k = reflectors; k-- > 0;) {
                double* const row = sums.data() + k * across;
                for (std::size_t later = k + 1; later < reflectors; ++later)
                    add(-gram[k * width + later], sums.data() + later * across, across, row);
                for (std::size_t i = 0; i < across; ++i) row[i] *= factors_[first + k];
            }
            packPanels(sums.data(), width, across, -1, packed.data());
            for (std::size_t i = j; i < a_.tiles(); ++i)
                kernels.addWideProduct({v(i), width, 1, rowsOf(i), width, packed.data(), width * kPanel,
                                        across / kPanel, of + i * kTileColumns * across});
        }
    }
    return Outcome::Done;
}

}  // namespace layerloom
