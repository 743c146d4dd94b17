#include "program.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace layerloom {
namespace {

Bound toBound(const double* numbers) {
    return {static_cast<std::uint32_t>(numbers[0]), static_cast<std::uint64_t>(numbers[1]), numbers[2] != 0};
}

constexpr std::size_t kBoundNumbers = 3;
/// Of Vote, before the weights.
constexpr std::size_t kVoteNumbers = 6;

/// A key of 64 bits, as two numbers of 32.
std::uint64_t toKey(const double* numbers) {
    return static_cast<std::uint64_t>(numbers[0]) << 32 | static_cast<std::uint64_t>(numbers[1]);
}

/// A probability as the number of 32-bit words below it.
std::uint64_t toWords(double probability) {
    return static_cast<std::uint64_t>(std::clamp(probability, 0.0, 1.0) * 4294967296.0);
}

}  // namespace

std::span<const std::uint64_t> Sorted::magnitudes(std::span<const float> x) {
    constexpr std::size_t bits = 8, values = 1 << bits;
    // Parts of the row take turns: where many elements are tied, a counter need not wait for itself.
    constexpr std::size_t parts = 4;
    const std::size_t count = x.size(), part = count / parts;
    const auto inTurns = [&](const auto& work) {
        for (std::size_t i = 0; i < part; ++i)
            for (std::size_t p = 0; p < parts; ++p) work(p, from_[p * part + i]);
        for (std::size_t i = parts * part; i < count; ++i) work(parts - 1, from_[i]);
    };
    from_.resize(count);
    to_.resize(count);
    std::uint64_t varies = 0;
    for (std::size_t i = 0; i < count; ++i) {
        std::uint32_t magnitude;
        std::memcpy(&magnitude, &x[i], sizeof magnitude);
        from_[i] = static_cast<std::uint64_t>(magnitude & 0x7FFF'FFFFu) << 32 | i;
        varies |= from_[i] ^ from_[0];
    }
    for (std::size_t shift = 32; shift < 64; shift += bits) {
        // A digit that is the same for all, as the lowest are of differences of 16-bit numbers, changes no
        // order.
        if ((varies >> shift) % values == 0) continue;
        std::uint32_t next[parts][values] = {};
        inTurns([&](std::size_t p, std::uint64_t key) { ++next[p][(key >> shift) % values]; });
        std::uint32_t place = 0;
        for (std::size_t digit = 0; digit < values; ++digit)
            for (std::size_t p = 0; p < parts; ++p) place += std::exchange(next[p][digit], place);
        inTurns([&](std::size_t p, std::uint64_t key) { to_[next[p][(key >> shift) % values]++] = key; });
        std::swap(from_, to_);
    }
    return from_;
}

DType Program::dtypeOf(std::uint32_t value) const {
    return value < sources.size() ? sources[value].dtype : nodes[value - sources.size()].dtype;
}

bool Program::needsRows() const {
    return std::ranges::any_of(nodes, [](const Node& node) { return node.kind == NodeKind::DropRanked; });
}

std::uint64_t Program::bytesRead(std::uint64_t elements) const {
    std::uint64_t bytes = 0;
    for (const Range& source : sources) bytes += elements * sizeOf(source.dtype);
    return bytes;
}

std::byte* Evaluator::Buffer::of(std::size_t size) {
    if (size > capacity) {
        // Unwritten memory is unmapped memory: only what a tile needs becomes private.
        bytes = std::make_unique_for_overwrite<std::byte[]>(size);
        capacity = size;
    }
    return bytes.get();
}

Evaluator::Evaluator(const Kernels& kernels, const Program& program, const Windows& windows)
    : kernels_(kernels),
      program_(program),
      windows_(windows),
      values_(program.nodes.size()),
      below_(program.nodes.size()),
      widened_(program.sources.size() + program.nodes.size()),
      isWidened_(widened_.size()) {}

std::size_t Evaluator::step(std::size_t wanted) const {
    if (!program_.needsRows()) return wanted;
    return std::max<std::size_t>(1, wanted / program_.columns) * program_.columns;
}

std::byte* Evaluator::placeOf(std::size_t node) const {
    return node < places_.size() ? places_[node] : nullptr;
}

void Evaluator::compute(std::size_t begin, std::size_t count, std::span<std::byte* const> places) {
    begin_ = begin;
    count_ = count;
    places_ = places;
    std::fill(isWidened_.begin(), isWidened_.end(), false);
    for (std::size_t n = 0; n < program_.nodes.size(); ++n) {
        const Node& node = program_.nodes[n];
        std::byte* const place = placeOf(n);
        std::byte* data = place != nullptr ? place : values_[n].of(count * sizeOf(node.dtype));
        evaluate(node, {data, node.dtype}, place == nullptr);
    }
}

Source Evaluator::value(std::uint32_t id) const {
    if (id < program_.sources.size()) {
        const DType dtype = program_.sources[id].dtype;
        return {windows_.bytes[id].data() + begin_ * sizeOf(dtype), dtype};
    }
    const std::size_t n = id - program_.sources.size();
    const std::byte* const place = placeOf(n);
    return {place != nullptr ? place : values_[n].bytes.get(), program_.nodes[n].dtype};
}

const float* Evaluator::floats(std::uint32_t id) {
    constexpr double one[] = {1};
    const Source source = value(id);
    // A source may stand at any address of its file; a node's buffer is aligned.
    if (id >= program_.sources.size() && placeOf(id - program_.sources.size()) == nullptr &&
        source.dtype == DType::F32)
        return reinterpret_cast<const float*>(source.data);
    auto* widened = widened_[id].of(count_ * sizeof(float));
    if (!isWidened_[id]) {
        linear(kernels_, {&source, 1}, one, {widened, DType::F32}, count_);
        isWidened_[id] = true;
    }
    return reinterpret_cast<const float*>(widened);
}

const float* const* Evaluator::allFloats(const Node& node) {
    floats_.clear();
    for (const std::uint32_t id : node.inputs) floats_.push_back(floats(id));
    return floats_.data();
}

void Evaluator::evaluate(const Node& node, Sink sink, bool isKept) {
    constexpr double one[] = {1};
    if (node.kind == NodeKind::Linear) {
        sources_.clear();
        for (const std::uint32_t id : node.inputs) sources_.push_back(value(id));
        return linear(kernels_, sources_, node.numbers, sink, count_);
    }
    if (node.kind == NodeKind::RowLinear)
        return static_cast<RowSense>(node.numbers[0]) == RowSense::Input ? columnLinear(node, sink)
                                                                         : rowLinear(node, sink);
    if (node.kind == NodeKind::Select) return select(node, sink);
    if (node.kind == NodeKind::Vote && sink.dtype != DType::F64) return vote(node, sink);
    if (isKept && sink.dtype == DType::F32) return evaluateFloats(node, reinterpret_cast<float*>(sink.data));
    auto* data = rounded_.of(count_ * sizeof(float));
    evaluateFloats(node, reinterpret_cast<float*>(data));
    const Source source{data, DType::F32};
    linear(kernels_, {&source, 1}, one, sink, count_);
}

void Evaluator::evaluateFloats(const Node& node, float* out) {
    const std::uint64_t first = program_.first + begin_;
    const std::vector<double>& numbers = node.numbers;
    const float* const* inputs = allFloats(node);
    switch (node.kind) {
        case NodeKind::Keep:
            return kernels_.keep(inputs[0], inputs[1], toBound(numbers.data()),
                                 toBound(numbers.data() + kBoundNumbers),
                                 static_cast<float>(numbers[2 * kBoundNumbers]), first, out, count_);
        case NodeKind::Drop: {
            auto* words = reinterpret_cast<std::uint32_t*>(randoms_.of(count_ * sizeof(std::uint32_t)));
            kernels_.randoms(toKey(numbers.data()), first, words, count_);
            const std::uint64_t below = toWords(numbers[2]);
            const auto scale = static_cast<float>(numbers[3]);
            for (std::size_t i = 0; i < count_; ++i) out[i] = words[i] < below ? inputs[0][i] * scale : 0.0f;
            return;
        }
        case NodeKind::DropRanked:
            return dropRanked(node, out);
        case NodeKind::Vote:
            return vote(node, {reinterpret_cast<std::byte*>(out), DType::F32});
        case NodeKind::Variance:
            return kernels_.variance(inputs, node.inputs.size(), out, count_);
        case NodeKind::NearSwap:
            return kernels_.nearSwap(inputs[0], inputs[1], static_cast<float>(numbers[0]), out, count_);
        case NodeKind::Importance:
            return forEachRow([&](std::uint64_t row, std::size_t, std::size_t at, std::size_t length) {
                const auto by = static_cast<float>(node.table[tableIndex(node, row)]);
                for (std::size_t i = at; i < at + length; ++i)
                    out[i] = std::fabs(inputs[0][i] - inputs[1][i]) * by;
            });
        default:
            return;
    }
}

void Evaluator::vote(const Node& node, Sink sink) {
    const float* const* inputs = allFloats(node);
    const std::vector<double>& numbers = node.numbers;
    weights_.assign(numbers.begin() + kVoteNumbers, numbers.end());
    const Vote rule{numbers[0] != 0,
                    numbers[1] != 0,
                    numbers[2] != 0,
                    static_cast<Divisor>(numbers[3]),
                    static_cast<float>(numbers[4]),
                    static_cast<float>(numbers[5])};
    kernels_.vote[static_cast<std::size_t>(sink.dtype)](inputs[0], inputs + 1, weights_.data(),
                                                        weights_.size(), rule, sink.data, count_);
}

/// Rank among the magnitudes of the row, equal ones by index: the probability is `lowest` for the smallest
/// and `highest` for the largest.
void Evaluator::dropRanked(const Node& node, float* out) {
    const float* x = floats(node.inputs[0]);
    const auto columns = static_cast<std::size_t>(program_.columns);
    auto* words = reinterpret_cast<std::uint32_t*>(randoms_.of(count_ * sizeof(std::uint32_t)));
    kernels_.randoms(toKey(node.numbers.data()), program_.first + begin_, words, count_);
    const double lowest = node.numbers[2], highest = node.numbers[3];
    const auto scale = static_cast<float>(node.numbers[4]);
    const double last = columns > 1 ? static_cast<double>(columns - 1) : 1;
    std::vector<std::uint64_t>& below = below_[static_cast<std::size_t>(&node - program_.nodes.data())];
    if (below.empty())
        for (std::size_t rank = 0; rank < columns; ++rank)
            below.push_back(toWords(lowest + (highest - lowest) * (static_cast<double>(rank) / last)));
    for (std::size_t row = 0; row < count_; row += columns) {
        const std::span<const std::uint64_t> order = sorted_.magnitudes({x + row, columns});
        for (std::size_t rank = 0; rank < columns; ++rank) {
            const std::size_t i = row + (order[rank] & 0xFFFF'FFFFu);
            // Without a branch: no processor foresees it.
            const float scaled = x[i] * scale;
            std::uint32_t bits;
            std::memcpy(&bits, &scaled, sizeof bits);
            bits &= words[i] < below[rank] ? 0xFFFF'FFFFu : 0;
            std::memcpy(&out[i], &bits, sizeof bits);
        }
    }
}

std::size_t Evaluator::tableIndex(const Node& node, std::uint64_t row) const {
    return static_cast<std::size_t>(row - node.tableRow);
}

template <class Work>
void Evaluator::forEachRow(const Work& work) const {
    const auto columns = static_cast<std::size_t>(program_.columns);
    for (std::size_t at = 0; at < count_;) {
        const std::uint64_t place = program_.first + begin_ + at;
        const auto column = static_cast<std::size_t>(place % columns);
        const std::size_t length = std::min(count_ - at, columns - column);
        work(place / columns, column, at, length);
        at += length;
    }
}

void Evaluator::rowLinear(const Node& node, Sink sink) {
    const std::size_t terms = node.inputs.size();
    std::vector<Source> inputs(terms);
    forEachRow([&](std::uint64_t row, std::size_t, std::size_t at, std::size_t length) {
        for (std::size_t t = 0; t < terms; ++t) {
            const Source source = value(node.inputs[t]);
            inputs[t] = {source.data + at * sizeOf(source.dtype), source.dtype};
        }
        const std::span weights(node.table.data() + tableIndex(node, row) * terms, terms);
        linear(kernels_, inputs, weights, {sink.data + at * sizeOf(sink.dtype), sink.dtype}, length);
    });
}

void Evaluator::columnLinear(const Node& node, Sink sink) {
    constexpr double one[] = {1};
    const std::size_t terms = node.inputs.size();
    const auto columns = static_cast<std::size_t>(program_.columns);
    const float* const* inputs = allFloats(node);
    auto* sums = reinterpret_cast<float*>(rounded_.of(count_ * sizeof(float)));
    auto* weights = reinterpret_cast<float*>(columns_.of(terms * columns * sizeof(float)));
    for (std::size_t t = 0; t < terms; ++t)
        for (std::size_t c = 0; c < columns; ++c)
            weights[t * columns + c] = static_cast<float>(node.table[c * terms + t]);
    std::vector<const float*> at(terms), by(terms);
    forEachRow([&](std::uint64_t, std::size_t column, std::size_t begin, std::size_t length) {
        for (std::size_t t = 0; t < terms; ++t) {
            at[t] = inputs[t] + begin;
            by[t] = weights + t * columns + column;
        }
        kernels_.linearColumns(at.data(), by.data(), terms, sums + begin, length);
    });
    const Source source{reinterpret_cast<const std::byte*>(sums), DType::F32};
    linear(kernels_, {&source, 1}, one, sink, count_);
}

/// Bits are taken as they are: both inputs are of the node's dtype.
void Evaluator::select(const Node& node, Sink sink) {
    const bool byColumns = static_cast<RowSense>(node.numbers[0]) == RowSense::Input;
    const Source a = value(node.inputs[0]), b = value(node.inputs[1]);
    const std::size_t width = sizeOf(sink.dtype);
    forEachRow([&](std::uint64_t row, std::size_t column, std::size_t at, std::size_t length) {
        if (!byColumns) {
            const Source& taken = node.table[tableIndex(node, row)] != 0 ? a : b;
            std::memcpy(sink.data + at * width, taken.data + at * width, length * width);
            return;
        }
        for (std::size_t i = 0; i < length; ++i) {
            const Source& taken = node.table[column + i] != 0 ? a : b;
            std::memcpy(sink.data + (at + i) * width, taken.data + (at + i) * width, width);
        }
    });
}

}  // namespace layerloom
