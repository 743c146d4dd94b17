#include "program.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
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
      widened_(program.sources.size() + program.nodes.size()),
      isWidened_(widened_.size()) {}

std::size_t Evaluator::step(std::size_t wanted) const {
    if (!program_.needsRows()) return wanted;
    return std::max<std::size_t>(1, wanted / program_.columns) * program_.columns;
}

void Evaluator::compute(std::size_t begin, std::size_t count, std::byte* out) {
    begin_ = begin;
    count_ = count;
    out_ = out;
    std::fill(isWidened_.begin(), isWidened_.end(), false);
    for (std::size_t n = 0; n < program_.nodes.size(); ++n) {
        const Node& node = program_.nodes[n];
        const bool isLast = n + 1 == program_.nodes.size();
        std::byte* data = isLast && out != nullptr ? out : values_[n].of(count * sizeOf(node.dtype));
        evaluate(node, {data, node.dtype});
    }
}

Source Evaluator::value(std::uint32_t id) const {
    if (id < program_.sources.size()) {
        const DType dtype = program_.sources[id].dtype;
        return {windows_.bytes[id].data() + begin_ * sizeOf(dtype), dtype};
    }
    const std::size_t n = id - program_.sources.size();
    const bool isLast = n + 1 == program_.nodes.size();
    return {isLast && out_ != nullptr ? out_ : values_[n].bytes.get(), program_.nodes[n].dtype};
}

const float* Evaluator::floats(std::uint32_t id) {
    constexpr double one[] = {1};
    const Source source = value(id);
    // A source may stand at any address of its file; a node's buffer is aligned.
    if (id >= program_.sources.size() && source.dtype == DType::F32)
        return reinterpret_cast<const float*>(source.data);
    auto* widened = widened_[id].of(count_ * sizeof(float));
    if (!isWidened_[id]) {
        linear(kernels_, {&source, 1}, one, {widened, DType::F32}, count_);
        isWidened_[id] = true;
    }
    return reinterpret_cast<const float*>(widened);
}

void Evaluator::evaluate(const Node& node, Sink sink) {
    constexpr double one[] = {1};
    if (node.kind == NodeKind::Linear) {
        std::vector<Source> inputs;
        for (const std::uint32_t id : node.inputs) inputs.push_back(value(id));
        return linear(kernels_, inputs, node.numbers, sink, count_);
    }
    if (node.kind == NodeKind::RowLinear)
        return static_cast<RowSense>(node.numbers[0]) == RowSense::Input ? columnLinear(node, sink)
                                                                         : rowLinear(node, sink);
    if (node.kind == NodeKind::Select) return select(node, sink);
    if (sink.data != out_ && sink.dtype == DType::F32)
        return evaluateFloats(node, reinterpret_cast<float*>(sink.data));
    auto* data = rounded_.of(count_ * sizeof(float));
    evaluateFloats(node, reinterpret_cast<float*>(data));
    const Source source{data, DType::F32};
    linear(kernels_, {&source, 1}, one, sink, count_);
}

void Evaluator::evaluateFloats(const Node& node, float* out) {
    const std::uint64_t first = program_.first + begin_;
    const std::vector<double>& numbers = node.numbers;
    std::vector<const float*> inputs;
    for (const std::uint32_t id : node.inputs) inputs.push_back(floats(id));
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
        case NodeKind::Vote: {
            const std::vector<float> weights(numbers.begin() + kVoteNumbers, numbers.end());
            const Vote rule{numbers[0] != 0,
                            numbers[1] != 0,
                            numbers[2] != 0,
                            static_cast<Divisor>(numbers[3]),
                            static_cast<float>(numbers[4]),
                            static_cast<float>(numbers[5])};
            return kernels_.vote(inputs[0], inputs.data() + 1, weights.data(), weights.size(), rule, out,
                                 count_);
        }
        case NodeKind::Variance:
            return kernels_.variance(inputs.data(), inputs.size(), out, count_);
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

/// Rank among the magnitudes of the row, equal ones by index: the probability is `lowest` for the smallest
/// and `highest` for the largest.
void Evaluator::dropRanked(const Node& node, float* out) {
    const float* x = floats(node.inputs[0]);
    const auto columns = static_cast<std::size_t>(program_.columns);
    auto* words = reinterpret_cast<std::uint32_t*>(randoms_.of(count_ * sizeof(std::uint32_t)));
    kernels_.randoms(toKey(node.numbers.data()), program_.first + begin_, words, count_);
    auto* order = reinterpret_cast<std::uint64_t*>(ranks_.of(columns * sizeof(std::uint64_t)));
    const double lowest = node.numbers[2], highest = node.numbers[3];
    const auto scale = static_cast<float>(node.numbers[4]);
    const double last = columns > 1 ? static_cast<double>(columns - 1) : 1;
    for (std::size_t row = 0; row < count_; row += columns) {
        for (std::size_t i = 0; i < columns; ++i) {
            std::uint32_t bits;
            std::memcpy(&bits, x + row + i, sizeof bits);
            order[i] = static_cast<std::uint64_t>(bits & 0x7FFF'FFFFu) << 32 | i;
        }
        std::sort(order, order + columns);
        for (std::size_t rank = 0; rank < columns; ++rank) {
            const std::size_t i = row + (order[rank] & 0xFFFF'FFFFu);
            const double probability = lowest + (highest - lowest) * (static_cast<double>(rank) / last);
            out[i] = words[i] < toWords(probability) ? x[i] * scale : 0.0f;
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
    std::vector<const float*> inputs;
    for (const std::uint32_t id : node.inputs) inputs.push_back(floats(id));
    auto* sums = reinterpret_cast<float*>(rounded_.of(count_ * sizeof(float)));
    auto* weights = reinterpret_cast<float*>(ranks_.of(terms * columns * sizeof(float)));
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
