#include "factored.hpp"

#include <algorithm>

#include "evaluator.hpp"

namespace layerloom {
namespace {

/// Partial sums of an inner product, in a fixed number so that bits are equal on every instruction set.
constexpr std::size_t kSums = 8;

double dot(const double* a, const double* b, std::size_t count) {
    double sums[kSums] = {};
    std::size_t i = 0;
    for (; i + kSums <= count; i += kSums)
        for (std::size_t s = 0; s < kSums; ++s) sums[s] += a[i + s] * b[i + s];
    for (; i < count; ++i) sums[i % kSums] += a[i] * b[i];
    double sum = 0;
    for (const double part : sums) sum += part;
    return sum;
}

}  // namespace

FactoredRows::FactoredRows(const Factored& factored, std::uint64_t columns)
    : factored_(factored), columns_(columns), kept_(factored.factors.size()) {}

const double* FactoredRows::row(std::size_t f, std::uint64_t index) {
    const SmallMatrix& factor = factored_.factors[f];
    const auto width = static_cast<std::size_t>(factor.columns), rank = static_cast<std::size_t>(factor.rank);
    if (rank == 0) return factor.numbers.data() + index * width;
    auto& [known, numbers] = kept_[f];
    if (known == index) return numbers.data();
    known = index;
    numbers.assign(width, 0);
    const double* const left = factor.numbers.data() + index * rank;
    const double* right = factor.numbers.data() + factor.rows * rank;
    for (std::size_t k = 0; k < rank; ++k, right += width)
        for (std::size_t c = 0; c < width; ++c) numbers[c] += left[k] * right[c];
    return numbers.data();
}

void FactoredRows::fill(std::uint64_t first, std::size_t count, float* out) {
    forEachRow(first, count, columns_,
               [&](std::size_t index, std::size_t column, std::size_t at, std::size_t n) {
                   if (factored_.factors.size() == 1) {
                       const double* const numbers = row(0, index) + column;
                       for (std::size_t i = 0; i < n; ++i) out[at + i] = static_cast<float>(numbers[i]);
                       return;
                   }
                   const SmallMatrix& inner = factored_.factors[1];
                   if (!factored_.kronecker) {
                       const double *const a = row(0, index) + column, *const b = row(1, index) + column;
                       for (std::size_t i = 0; i < n; ++i) out[at + i] = static_cast<float>(a[i] * b[i]);
                       return;
                   }
                   const double *const a = row(0, index / inner.rows), *const b = row(1, index % inner.rows);
                   const auto width = static_cast<std::size_t>(inner.columns);
                   for (std::size_t i = 0; i < n; ++i)
                       out[at + i] = static_cast<float>(a[(column + i) / width] * b[(column + i) % width]);
               });
}

TurnedRows::TurnedRows(const Turned& turned, std::size_t columns)
    : turned_(turned), columns_(columns), row_(columns), turnedRow_(columns) {}

void TurnedRows::fill(const float* rows, std::size_t count, float* out) {
    for (std::size_t begin = 0; begin < count; begin += columns_) {
        const bool isOrdered = !turned_.order.empty();
        for (std::size_t c = 0; c < columns_; ++c)
            row_[isOrdered ? turned_.place(c) : c] = static_cast<double>(rows[begin + c]);
        turned_.size == 0 ? reflect() : turnBlocks();
        for (std::size_t c = 0; c < columns_; ++c)
            out[begin + c] = static_cast<float>(row_[isOrdered ? turned_.place(c) : c]);
    }
}

void TurnedRows::turnBlocks() {
    const auto size = static_cast<std::size_t>(turned_.size);
    const std::size_t blocks = turned_.numbers.size() / (size * size);
    std::fill(turnedRow_.begin(), turnedRow_.end(), 0.0);
    for (std::size_t begin = 0, block = 0; begin < columns_; begin += size, ++block) {
        const double* numbers = turned_.numbers.data() + block % blocks * size * size;
        double* const sums = turnedRow_.data() + begin;
        for (std::size_t k = 0; k < size; ++k, numbers += size)
            for (std::size_t c = 0; c < size; ++c) sums[c] += row_[begin + k] * numbers[c];
    }
    row_.swap(turnedRow_);
}

void TurnedRows::reflect() {
    for (std::size_t at = 0; at < turned_.numbers.size(); at += columns_) {
        const double* const unit = turned_.numbers.data() + at;
        const double twice = 2 * dot(row_.data(), unit, columns_);
        for (std::size_t c = 0; c < columns_; ++c) row_[c] -= twice * unit[c];
    }
}

}  // namespace layerloom
