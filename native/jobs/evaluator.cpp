#include "evaluator.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "normal.hpp"

namespace layerloom {
namespace {

void blend(const std::byte* a, const std::byte* b, const std::uint8_t* mask, std::byte* out,
           std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
        out[i] = (a[i] & std::byte{mask[i]}) | (b[i] & std::byte(~mask[i]));
}

}  // namespace

std::byte* Evaluator::Buffer::of(std::size_t size) {
    if (size > capacity) {
        // Untouched memory does not become resident.
        bytes = std::make_unique_for_overwrite<std::byte[]>(size);
        capacity = size;
    }
    return bytes.get();
}

Evaluator::Evaluator(const Kernels& kernels, const Program& program, const Windows& windows,
                     FusedVotes fusedVotes)
    : kernels_(kernels),
      program_(program),
      windows_(windows),
      fusedVotes_(std::move(fusedVotes)),
      values_(program.nodes.size()),
      standIns_(program.nodes.size()),
      gathered_(program.sources.size()),
      prepared_(program.nodes.size()),
      isComputed_(program.nodes.size()),
      isNeeded_(program.nodes.size()),
      widened_(program.sources.size() + program.nodes.size()),
      isWidened_(widened_.size()),
      isWatched_(widened_.size()),
      isPruned_(program.sources.size()),
      isProven_(program.sources.size()),
      ranks_(kernels) {
    for (const ValueId id : program.watched) isWatched_[id] = true;
    for (const auto& fused : fusedVotes_.votes)
        if (fused)
            for (const FusedVote::Term& term : fused->terms)
                if (term.source < program.sources.size()) isPruned_[term.source] = true;
    for (std::size_t s = 0; s < program.sources.size(); ++s) {
        const StoredSource& source = program.sources[s];
        const std::uint64_t offset = windowOf(source, program.first, program.count).offset;
        gathered_[s].begin = (offset - source.at.begin) / sizeOf(source.dtype);
    }
}

std::size_t Evaluator::step(std::size_t wanted) const {
    const std::uint64_t rows = program_.rowsTogether();
    if (rows == 0) return wanted;
    const auto together = static_cast<std::size_t>(rows * columns());
    return std::max<std::size_t>(1, wanted / together) * together;
}

void Evaluator::tally() {
    for (const auto& fused : fusedVotes_.votes)
        if (fused) tallies_.resize(fused->terms.size());
}

std::byte* Evaluator::placeOf(std::size_t node) const {
    return node < places_.size() ? places_[node] : nullptr;
}

void Evaluator::compute(std::size_t begin, std::size_t count, std::span<std::byte* const> places) {
    moveTo(begin, count);
    places_ = places;
    std::fill(isProven_.begin(), isProven_.end(), false);
    for (std::size_t n = 0; n < program_.nodes.size(); ++n)
        if (!fusedVotes_.isSkipped[n]) need(static_cast<ValueId>(program_.sources.size() + n));
    for (ValueId id = 0; id < program_.sources.size(); ++id)
        if (isWatched_[id] && !isPruned_[id] && !isProven_[id]) look(id);
}

void Evaluator::look() {
    for (ValueId id = 0; id < isWatched_.size(); ++id) {
        if (!isWatched_[id]) continue;
        need(id);
        look(id);
    }
}

void Evaluator::look(ValueId id) {
    const auto [data, dtype] = found(id);
    if (kernels_.isFinite[static_cast<std::size_t>(dtype)](data, count_)) return;
    std::size_t i = 0;
    while (isFiniteAt(id, i)) ++i;
    const ValueId cause = causeOf(id, i);
    const auto [from, fromDtype] = found(cause);
    const Source source{from + i * sizeOf(fromDtype), fromDtype};
    double number = 0;
    linear(kernels_, {&source, 1}, kOne, {reinterpret_cast<std::byte*>(&number), DType::F64}, 1);
    nonFinite_.push_back({id, storedCause(cause), firstElement() + i, number});
    isWatched_[id] = false;
}

bool Evaluator::isFiniteAt(ValueId id, std::size_t i) const {
    const auto [data, dtype] = found(id);
    return kernels_.isFinite[static_cast<std::size_t>(dtype)](data + i * sizeOf(dtype), 1);
}

/// Returns the source whose file explains a cause; for a dequantised value, the source of its codes.
ValueId Evaluator::storedCause(ValueId id) const {
    if (id < program_.sources.size()) return id;
    const Node& node = program_.nodes[id - program_.sources.size()];
    const bool isMade =
        std::holds_alternative<Dequantise>(node.operation) || std::holds_alternative<Unpack>(node.operation);
    return isMade ? node.inputs[0] : id;
}

/// Returns the value in which the NaN or infinity of element `i` first occurs, searching back along inputs.
/// If a node only moves bits, follows the input that has these bits.
ValueId Evaluator::causeOf(ValueId id, std::size_t i) const {
    while (id >= program_.sources.size()) {
        const std::size_t n = id - program_.sources.size();
        const Node& node = program_.nodes[n];
        if (takesWhole(node.operation)) return id;
        const std::size_t size = sizeOf(node.dtype);
        const bool movesBits = takesBits(node.operation);
        std::optional<ValueId> cause;
        forEachInput(n, [&](ValueId input) {
            if (cause || isFiniteAt(input, i)) return;
            if (!movesBits || std::memcmp(found(input).data + i * size, found(id).data + i * size, size) == 0)
                cause = input;
        });
        if (!cause) return id;
        id = *cause;
    }
    return id;
}

void Evaluator::moveTo(std::size_t begin, std::size_t count) {
    begin_ = begin;
    count_ = count;
    places_ = {};
    std::fill(isWidened_.begin(), isWidened_.end(), false);
    std::fill(isComputed_.begin(), isComputed_.end(), false);
    std::fill(standIns_.begin(), standIns_.end(), nullptr);
    for (std::size_t s = 0; s < program_.sources.size(); ++s)
        if (program_.sources[s].slicing == Slicing::Rows) gather(s);
}

template <class Visit>
void Evaluator::forEachInput(std::size_t node, const Visit& visit) const {
    const std::vector<ValueId>& inputs = program_.nodes[node].inputs;
    if (const auto& fused = fusedVotes_.votes[node]) {
        visit(inputs[0]);
        for (const FusedVote::Term& term : fused->terms) visit(term.source);
    } else {
        for (const ValueId input : inputs) visit(input);
    }
}

void Evaluator::need(ValueId id) {
    const std::size_t sources = program_.sources.size();
    // Inputs come before their node: marks needed nodes backwards, then computes forwards. Recursion could
    // overflow the stack.
    std::size_t first = program_.nodes.size();
    const auto mark = [&](ValueId input) {
        if (input < sources || isComputed_[input - sources]) return;
        isNeeded_[input - sources] = true;
        first = std::min<std::size_t>(first, input - sources);
    };
    mark(id);
    for (std::size_t n = id + 1 - std::min<std::size_t>(sources, id + 1); n > first; --n)
        if (isNeeded_[n - 1]) forEachInput(n - 1, mark);
    for (std::size_t n = first; n + sources <= id; ++n) {
        if (!isNeeded_[n]) continue;
        isNeeded_[n] = false;
        isComputed_[n] = true;
        evaluate(n);
    }
}

void Evaluator::evaluate(std::size_t n) {
    const Node& node = program_.nodes[n];
    std::byte* const place = placeOf(n);
    std::byte* data = place != nullptr ? place : values_[n].of(count_ * sizeOf(node.dtype));
    const Work work{node, n, {data, node.dtype}, place == nullptr};
    isTold_ = false;
    isFinite_ = true;
    std::visit([&](const auto& operation) { evaluate(operation, work); }, node.operation);
    const auto id = static_cast<ValueId>(program_.sources.size() + n);
    if (isTold_ && isFinite_) return;
    if (isWatched_[id]) look(id);
    if (fusedVotes_.votes[n])
        forEachInput(n, [&](ValueId input) {
            if (isWatched_[input]) look(input);
        });
}

void Evaluator::sumInto(std::span<const Source> sources, std::span<const double> weights, Sink sink,
                        std::size_t count) {
    isFinite_ &= linear(kernels_, sources, weights, sink, count);
    isTold_ = true;
}

Source Evaluator::value(ValueId id) {
    need(id);
    return found(id);
}

const float* Evaluator::floats(ValueId id) {
    need(id);
    return widened(id);
}

Evaluator::Sum Evaluator::sum(ValueId id, std::size_t from) {
    const auto take = [&](Source source) {
        terms_.push_back(source.data + from * sizeOf(source.dtype));
        return source.dtype;
    };
    terms_.clear();
    if (id >= program_.sources.size() && !isComputed_[id - program_.sources.size()]) {
        const Node& node = program_.nodes[id - program_.sources.size()];
        // A sum has inputs; other nodes may have none.
        if (const auto* const linear = std::get_if<Linear>(&node.operation)) {
            const DType dtype = program_.dtypeOf(node.inputs.front());
            const auto isTaken = [&](ValueId input) { return program_.dtypeOf(input) == dtype; };
            if (node.dtype == DType::F32 && dtype != DType::F64 &&
                std::ranges::all_of(node.inputs, isTaken)) {
                for (const ValueId input : node.inputs) take(value(input));
                weights_.assign(linear->weights.begin(), linear->weights.end());
                return {{terms_.data(), weights_.data(), terms_.size()}, dtype};
            }
        }
    }
    const Source source = value(id);
    const DType dtype =
        take(source.dtype != DType::F64 ? source
                                        : Source{reinterpret_cast<const std::byte*>(floats(id)), DType::F32});
    weights_.assign(1, 1);
    return {{terms_.data(), weights_.data(), 1}, dtype};
}

Evaluator::DrawnSum Evaluator::drawnSum(ValueId id, std::size_t from) {
    if (id >= program_.sources.size() && !isComputed_[id - program_.sources.size()]) {
        const Node& node = program_.nodes[id - program_.sources.size()];
        const auto* const drop = std::get_if<Drop>(&node.operation);
        if (drop != nullptr && node.dtype == DType::F32)
            if (const auto draw = drop->draw()) return {sum(node.inputs[0], from), draw, drop->scale};
    }
    return {sum(id, from), {}, 1};
}

Source Evaluator::found(ValueId id) const {
    if (id < program_.sources.size()) {
        const StoredSource& source = program_.sources[id];
        if (source.slicing == Slicing::Rows) return {gathered_[id].tile, source.dtype};
        if (source.slicing == Slicing::Whole) return {windows_.whole(id), source.dtype};
        const std::size_t size = sizeOf(source.dtype);
        return {windows_.at(id, begin_ * size, count_ * size), source.dtype};
    }
    const std::size_t n = id - program_.sources.size();
    return {dataOf(n), program_.nodes[n].dtype};
}

const std::byte* Evaluator::dataOf(std::size_t node) const {
    if (standIns_[node] != nullptr) return standIns_[node];
    const std::byte* const place = placeOf(node);
    return place != nullptr ? place : values_[node].bytes.get();
}

bool Evaluator::standsFor(const Work& work, ValueId input) {
    if (!work.isKept) return false;
    standIns_[work.index] = found(input).data;
    return true;
}

void Evaluator::gather(std::size_t s) {
    const StoredSource& source = program_.sources[s];
    Gathered& gathered = gathered_[s];
    const std::size_t size = sizeOf(source.dtype);
    const std::byte* const window = windows_.whole(s);
    std::byte* out = nullptr;
    forEachRun(std::span<const RowRun>(source.runs), source.width, firstElement(), count_,
               [&](const RowRun* run, std::uint64_t into, std::size_t at, std::size_t length) {
                   const std::byte* const found =
                       run == nullptr ? nullptr
                                      : window + (run->from * source.width + into - gathered.begin) * size;
                   if (found != nullptr && length == count_) {
                       gathered.tile = found;
                       return;
                   }
                   if (out == nullptr) gathered.tile = out = gathered.copied.of(count_ * size);
                   if (found == nullptr)
                       std::memset(out + at * size, 0, length * size);
                   else
                       std::memcpy(out + at * size, found, length * size);
               });
}

bool Evaluator::isAligned(ValueId id) const {
    // A source may have any address; a node's buffer is aligned.
    if (id < program_.sources.size()) return false;
    const std::size_t n = id - program_.sources.size();
    return placeOf(n) == nullptr &&
           (standIns_[n] == nullptr || std::holds_alternative<Product>(program_.nodes[n].operation));
}

const float* Evaluator::widened(ValueId id) {
    const Source source = found(id);
    if (source.dtype == DType::F32 && isAligned(id)) return reinterpret_cast<const float*>(source.data);
    auto* floats = widened_[id].of(count_ * sizeof(float));
    if (!isWidened_[id]) {
        linear(kernels_, {&source, 1}, kOne, {floats, DType::F32}, count_);
        isWidened_[id] = true;
    }
    return reinterpret_cast<const float*>(floats);
}

const float* const* Evaluator::allFloats(const Node& node) {
    floats_.clear();
    for (const ValueId id : node.inputs) floats_.push_back(widened(id));
    return floats_.data();
}

const std::uint32_t* Evaluator::randoms(std::uint64_t key) {
    auto* words = reinterpret_cast<std::uint32_t*>(randoms_.of(count_ * sizeof(std::uint32_t)));
    kernels_.randoms(key, firstElement(), words, count_);
    return words;
}

template <class Fill>
void Evaluator::inFloats(const Work& work, const Fill& fill) {
    if (work.isKept && work.sink.dtype == DType::F32) return fill(reinterpret_cast<float*>(work.sink.data));
    float* out = rounded_.floats(count_);
    fill(out);
    const Source source{reinterpret_cast<const std::byte*>(out), DType::F32};
    sumInto({&source, 1}, kOne, work.sink, count_);
}

void Evaluator::evaluate(const Linear& operation, const Work& work) {
    sources_.clear();
    for (const ValueId id : work.node.inputs) sources_.push_back(found(id));
    sumInto(sources_, operation.weights, work.sink, count_);
    // Rounding to some dtypes makes infinity finite.
    if (!isFinite_ || work.sink.dtype != DType::F32) return;
    for (const ValueId id : work.node.inputs)
        if (id < isProven_.size()) isProven_[id] = true;
}

void Evaluator::evaluate(const RowLinear& operation, const Work& work) {
    operation.rows == Rows::Input ? linearByColumns(operation, work) : linearByRows(operation, work);
}

void Evaluator::linearByRows(const RowLinear& operation, const Work& work) {
    const std::size_t terms = work.node.inputs.size();
    const auto [data, dtype] = work.sink;
    sources_.resize(terms);
    forEachRow(firstElement(), count_, columns(),
               [&, data = data, dtype = dtype](std::size_t row, std::size_t, std::size_t at, std::size_t n) {
                   for (std::size_t t = 0; t < terms; ++t) {
                       const Source source = found(work.node.inputs[t]);
                       sources_[t] = {source.data + at * sizeOf(source.dtype), source.dtype};
                   }
                   const std::span weights(operation.weights.data() + row * terms, terms);
                   sumInto(sources_, weights, {data + at * sizeOf(dtype), dtype}, n);
               });
}

void Evaluator::linearByColumns(const RowLinear& operation, const Work& work) {
    const std::size_t terms = work.node.inputs.size();
    std::vector<float>& weights = prepared_[work.index].weights;
    if (weights.empty())
        for (std::size_t t = 0; t < terms; ++t)
            for (std::size_t c = 0; c < columns(); ++c)
                weights.push_back(static_cast<float>(operation.weights[c * terms + t]));
    const float* const* inputs = allFloats(work.node);
    float* sums = rounded_.floats(count_);
    std::vector<const float*> at(terms), by(terms);
    forEachRow(firstElement(), count_, columns(),
               [&](std::size_t, std::size_t column, std::size_t begin, std::size_t n) {
                   for (std::size_t t = 0; t < terms; ++t) {
                       at[t] = inputs[t] + begin;
                       by[t] = weights.data() + t * columns() + column;
                   }
                   kernels_.linearColumns(at.data(), by.data(), terms, sums + begin, n);
               });
    const Source source{reinterpret_cast<const std::byte*>(sums), DType::F32};
    sumInto({&source, 1}, kOne, work.sink, count_);
}

void Evaluator::evaluate(const Keep& keep, const Work& work) {
    const float* const* inputs = allFloats(work.node);
    inFloats(work, [&](float* out) {
        kernels_.keep(inputs[0], inputs[1], keep.lower, keep.upper, keep.scale, firstElement(), out, count_);
    });
}

void Evaluator::evaluate(const Drop& drop, const Work& work) {
    const float* x = widened(work.node.inputs[0]);
    const std::optional<Draw> draw = drop.draw();
    inFloats(work, [&](float* out) {
        if (draw)
            kernels_.drop(x, *draw, drop.scale, firstElement(), out, count_);
        else
            std::fill_n(out, count_, 0.0f);
    });
}

/// Ranks the row's magnitudes, equal ones by index. The smallest gets the probability `lowest`, the largest
/// `highest`.
void Evaluator::evaluate(const DropRanked& drop, const Work& work) {
    const float* x = widened(work.node.inputs[0]);
    const std::uint32_t* words = randoms(drop.key);
    std::vector<std::uint64_t>& below = prepared_[work.index].words;
    if (below.empty()) {
        const double last = columns() > 1 ? static_cast<double>(columns() - 1) : 1;
        for (std::size_t rank = 0; rank < columns(); ++rank)
            below.push_back(
                wordsBelow(drop.lowest + (drop.highest - drop.lowest) * (static_cast<double>(rank) / last)));
    }
    inFloats(work, [&, scale = drop.scale, limits = below.data()](float* out) {
        for (std::size_t row = 0; row < count_; row += columns()) {
            ranks_.forEach({x + row, columns()}, [&](std::size_t element, std::size_t rank) {
                const std::size_t i = row + element;
                // Avoids a branch, which would be unpredictable.
                const std::uint32_t kept = words[i] < limits[rank] ? 0xFFFF'FFFFu : 0;
                out[i] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(x[i] * scale) & kept);
            });
        }
    });
}

/// Rounds to float32 before scaling. Adding 0 turns −0 into 0.
void Evaluator::evaluate(const Random& random, const Work& work) {
    const std::uint32_t* words = randoms(random.key);
    const bool isNormal = random.distribution == Random::Distribution::Normal;
    inFloats(work, [=, scale = random.scale, count = count_](float* out) {
        for (std::size_t i = 0; i < count; ++i) {
            const double number = isNormal ? normalOf(words[i]) : (words[i] + 0.5) * 0x1p-31 - 1;
            out[i] = static_cast<float>(number) * scale + 0.0f;
        }
    });
}

void Evaluator::evaluate(const Vote& vote, const FusedVote& fused, const Work& work) {
    pruned_.clear();
    for (const auto& [source, keep, draw] : fused.terms)
        pruned_.push_back({found(source).data, keep.lower, keep.upper, keep.scale, draw ? &*draw : nullptr});
    isFinite_ = kernels_.consensus[static_cast<std::size_t>(work.sink.dtype)](
        found(work.node.inputs[0]).data, pruned_.data(), vote.weights.data(), pruned_.size(), vote.rule,
        firstElement(), work.sink.data, count_, tallies_.empty() ? nullptr : tallies_.data());
    isTold_ = true;
    if (isFinite_) tallied_ += count_;
}

void Evaluator::evaluate(const Vote& vote, const Work& work) {
    if (const auto& fused = fusedVotes_.votes[work.index]) return evaluate(vote, *fused, work);
    const float* const* inputs = allFloats(work.node);
    const auto into = [&](DType dtype, std::byte* out) {
        isFinite_ = kernels_.vote[static_cast<std::size_t>(dtype)](
            inputs[0], inputs + 1, vote.weights.data(), work.node.inputs.size() - 1, vote.rule, out, count_);
        isTold_ = true;
    };
    // No kernel votes in float64: votes in float32, then converts.
    if (work.sink.dtype != DType::F64) return into(work.sink.dtype, work.sink.data);
    inFloats(work, [&](float* out) { into(DType::F32, reinterpret_cast<std::byte*>(out)); });
}

void Evaluator::evaluate(const Variance&, const Work& work) {
    const float* const* inputs = allFloats(work.node);
    inFloats(work, [&](float* out) { kernels_.variance(inputs, work.node.inputs.size(), out, count_); });
}

void Evaluator::evaluate(const NearSwap& nearSwap, const Work& work) {
    const float* const* inputs = allFloats(work.node);
    inFloats(work, [&](float* out) { kernels_.nearSwap(inputs[0], inputs[1], nearSwap.t, out, count_); });
}

void Evaluator::evaluate(const Fisher& fisher, const Work& work) {
    const float* const* inputs = allFloats(work.node);
    const std::size_t terms = fisher.weights.size();
    inFloats(work, [&](float* out) {
        kernels_.fisher(inputs, inputs + terms, fisher.weights.data(), terms, fisher.eps, out, count_);
    });
}

void Evaluator::evaluate(const Importance& importance, const Work& work) {
    constexpr double difference[] = {1, -1};
    std::array<Source, 2> inputs{};
    std::ranges::transform(work.node.inputs, inputs.begin(), [this](ValueId id) {
        const Source source = found(id);
        // Differences of float64 would be rounded once, not twice, so converts first.
        return source.dtype == DType::F64 ? Source{reinterpret_cast<const std::byte*>(widened(id)), DType::F32} : source;
    });
    inFloats(work, [&](float* out) {
        linear(kernels_, inputs, difference, {reinterpret_cast<std::byte*>(out), DType::F32}, count_);
        forEachRow(firstElement(), count_, columns(),
                   [&](std::size_t row, std::size_t, std::size_t at, std::size_t n) {
                       const auto by = static_cast<float>(importance.divergences[row]);
                       for (std::size_t i = at; i < at + n; ++i) out[i] = std::fabs(out[i]) * by;
                   });
    });
}

void Evaluator::evaluate(const Select& select, const Work& work) {
    const std::byte *a = found(work.node.inputs[0]).data, *b = found(work.node.inputs[1]).data;
    std::byte* out = work.sink.data;
    const std::size_t width = sizeOf(work.sink.dtype);
    std::vector<std::uint8_t>& mask = prepared_[work.index].mask;
    if (select.rows == Rows::Input && mask.empty())
        for (const std::uint8_t kept : select.kept) mask.insert(mask.end(), width, kept != 0 ? 0xFF : 0);
    forEachRow(firstElement(), count_, columns(),
               [&](std::size_t row, std::size_t column, std::size_t at, std::size_t n) {
                   const std::size_t begin = at * width, length = n * width;
                   if (select.rows == Rows::Input)
                       blend(a + begin, b + begin, mask.data() + column * width, out + begin, length);
                   else
                       std::memcpy(out + begin, (select.kept[row] != 0 ? a : b) + begin, length);
               });
}

void Evaluator::evaluate(const Assemble& assemble, const Work& work) {
    const std::size_t size = sizeOf(work.sink.dtype);
    std::byte* const out = work.sink.data;
    forEachRun(std::span<const InputRun>(assemble.runs), assemble.width, firstElement(), count_,
               [&](const InputRun* run, std::uint64_t, std::size_t at, std::size_t length) {
                   if (run == nullptr) {
                       std::memset(out + at * size, 0, length * size);
                       return;
                   }
                   const ValueId input = work.node.inputs[run->input];
                   if (length == count_ && standsFor(work, input)) return;
                   std::memcpy(out + at * size, found(input).data + at * size, length * size);
               });
}

void Evaluator::evaluate(const FillRows& fill, const Work& work) {
    const ValueId input = work.node.inputs[0];
    const std::size_t size = sizeOf(work.sink.dtype), width = fill.values.size();
    if (firstElement() + count_ <= fill.from * width && standsFor(work, input)) return;
    std::vector<std::byte>& filled = prepared_[work.index].row;
    if (filled.empty()) {
        std::vector<float> values;
        for (const double number : fill.values) values.push_back(static_cast<float>(number));
        filled.resize(width * size);
        const Source source{reinterpret_cast<const std::byte*>(values.data()), DType::F32};
        linear(kernels_, {&source, 1}, kOne, {filled.data(), work.sink.dtype}, width);
    }
    const std::byte* const data = found(input).data;
    forEachRow(firstElement(), count_, width,
               [&](std::size_t row, std::size_t column, std::size_t at, std::size_t n) {
                   const std::byte* from = row < fill.from ? data + at * size : filled.data() + column * size;
                   std::memcpy(work.sink.data + at * size, from, n * size);
               });
}

void Evaluator::evaluate(const CombineRows& combine, const Work& work) {
    const Source all = found(work.node.inputs[0]);
    const std::size_t size = sizeOf(all.dtype), width = combine.width;
    std::vector<double> sums(std::min(width, count_));
    std::vector<float> row(sums.size());
    inFloats(work, [&](float* out) {
        forEachRow(firstElement(), count_, width,
                   [&](std::size_t of, std::size_t column, std::size_t at, std::size_t n) {
                       std::fill_n(sums.begin(), n, 0.0);
                       const std::size_t index = of - combine.first;
                       for (std::uint64_t t = combine.starts[index]; t < combine.starts[index + 1]; ++t) {
                           const auto [from, coefficient] = combine.terms[t];
                           const Source source{all.data + (from * width + column) * size, all.dtype};
                           linear(kernels_, {&source, 1}, kOne,
                                  {reinterpret_cast<std::byte*>(row.data()), DType::F32}, n);
                           for (std::size_t i = 0; i < n; ++i)
                               sums[i] += coefficient * static_cast<double>(row[i]);
                       }
                       for (std::size_t i = 0; i < n; ++i) out[at + i] = static_cast<float>(sums[i]);
                   });
    });
}

/// Uses the tile in place if computed rows contain it.
void Evaluator::evaluate(const Product& product, const Work& work) {
    std::unique_ptr<ProductRows>& rows = prepared_[work.index].product;
    if (rows == nullptr) {
        const auto [a, b] = std::pair(work.node.inputs[0], work.node.inputs[1]);
        const std::uint64_t ranks = product.rank * product.experts;
        const Factors factors{found(a), found(b),
                              static_cast<std::size_t>(program_.sources[a].elements / ranks),
                              static_cast<std::size_t>(program_.sources[b].elements / ranks)};
        const std::uint64_t end = program_.first + program_.count;
        const MatrixSize size{static_cast<std::size_t>((end + columns() - 1) / columns()), columns()};
        rows = std::make_unique<ProductRows>(kernels_, product, factors, size);
    }
    const std::size_t width = sizeOf(work.sink.dtype);
    for (std::size_t at = 0; at < count_;) {
        const std::span<const float> found = rows->from(firstElement() + at);
        const auto* data = reinterpret_cast<const std::byte*>(found.data());
        if (at == 0 && found.size() >= count_ && work.isKept && work.sink.dtype == DType::F32) {
            standIns_[work.index] = data;
            return;
        }
        const std::size_t n = std::min(count_ - at, found.size());
        const Source source{data, DType::F32};
        sumInto({&source, 1}, kOne, {work.sink.data + at * width, work.sink.dtype}, n);
        at += n;
    }
}

void Evaluator::evaluate(const Dequantise& what, const Work& work) {
    std::unique_ptr<Dequantiser>& dequantiser = prepared_[work.index].dequantiser;
    if (dequantiser == nullptr) {
        std::vector<Source> inputs;
        for (const ValueId id : work.node.inputs) inputs.push_back(found(id));
        dequantiser = std::make_unique<Dequantiser>(kernels_, what, inputs, program_.columns);
    }
    inFloats(work, [&](float* out) { dequantiser->fill(firstElement(), count_, out); });
}

void Evaluator::evaluate(const Unpack& what, const Work& work) {
    std::unique_ptr<Unpacker>& unpacker = prepared_[work.index].unpacker;
    if (unpacker == nullptr)
        unpacker = std::make_unique<Unpacker>(kernels_, what, found(work.node.inputs[0]).data);
    inFloats(work, [&](float* out) { unpacker->fill(firstElement(), count_, out); });
}

void Evaluator::evaluate(const Quantise& what, const Work& work) {
    std::unique_ptr<Quantiser>& quantiser = prepared_[work.index].quantiser;
    if (quantiser == nullptr) quantiser = std::make_unique<Quantiser>(kernels_, what, columns());
    const float* x = widened(work.node.inputs[0]);
    const std::size_t rows = count_ / columns();
    if (what.codes) return quantiser->fill(x, rows, work.sink.data);
    inFloats(work, [&](float* out) { quantiser->fill(x, rows, reinterpret_cast<std::byte*>(out)); });
}

void Evaluator::evaluate(const Factored& what, const Work& work) {
    std::unique_ptr<FactoredRows>& rows = prepared_[work.index].factored;
    if (rows == nullptr) rows = std::make_unique<FactoredRows>(what, program_.columns);
    inFloats(work, [&](float* out) { rows->fill(firstElement(), count_, out); });
}

void Evaluator::evaluate(const Turned& what, const Work& work) {
    std::unique_ptr<TurnedRows>& rows = prepared_[work.index].turned;
    if (rows == nullptr) rows = std::make_unique<TurnedRows>(what, columns());
    const float* x = widened(work.node.inputs[0]);
    inFloats(work, [&](float* out) { rows->fill(x, count_, out); });
}

std::span<const float> Evaluator::scalesOf(std::size_t node) const {
    return prepared_[node].quantiser->scales();
}

}  // namespace layerloom
