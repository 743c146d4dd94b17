// Fuzzes the native door's checks and the code after them by coverage (libFuzzer), with AddressSanitizer and
// UndefinedBehaviorSanitizer: `npm run test:fuzz`, if clang is installed.
//
// Bytes become a job over small files in memory: mostly a valid one, so that much code runs after the checks,
// with some wrong numbers. Accepted jobs run on two instruction sets, which must write the same bits. No
// source may lie beyond its file's end.
#include <fcntl.h>
#include <fuzzer/FuzzedDataProvider.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "jobs/check.hpp"
#include "jobs/solve.hpp"
#include "kernels/dispatch.hpp"

using namespace layerloom;

extern "C" {
void* __real_mmap(void*, std::size_t, int, int, int, off_t);
int __real_munmap(void*, std::size_t);
}

namespace {

/// Puts unreadable pages around mapped files (the linker's --wrap): a read beyond a file ends the process, whatever
/// else is in memory.
constexpr std::size_t kPage = 4096;
std::size_t pagesOf(std::size_t length) { return (length + kPage - 1) / kPage * kPage; }
std::vector<void*> mapped;

}  // namespace

extern "C" void* __wrap_mmap(void* at, std::size_t length, int protection, int flags, int fd, off_t offset) {
    if (fd < 0 || length > std::size_t{1} << 32)
        return __real_mmap(at, length, protection, flags, fd, offset);
    const std::size_t all = pagesOf(length) + 2 * kPage;
    auto* base = static_cast<char*>(__real_mmap(nullptr, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (base == MAP_FAILED) return base;
    void* file = __real_mmap(base + kPage, length, protection, flags | MAP_FIXED, fd, offset);
    if (file == MAP_FAILED) {
        const int error = errno;
        __real_munmap(base, all);
        errno = error;
        return file;
    }
    mapped.push_back(file);
    return file;
}

extern "C" int __wrap_munmap(void* at, std::size_t length) {
    const auto found = std::find(mapped.begin(), mapped.end(), at);
    if (found == mapped.end()) return __real_munmap(at, length);
    mapped.erase(found);
    return __real_munmap(static_cast<char*>(at) - kPage, pagesOf(length) + 2 * kPage);
}

namespace {

/// Whole pages, so that a read beyond the end of a file faults.
constexpr std::size_t kFileBytes = 8 * 4096;
/// A file that is often too short.
constexpr std::size_t kShortBytes = 64;
/// Larger slices are valid but take too long.
constexpr std::uint64_t kMostElements = 1 << 14;

struct File {
    int fd;
    std::size_t bytes;
    std::byte* memory = nullptr;  ///< of a remote file
};

struct Files {
    std::array<File, 4> inputs;
    std::array<int, 2> outputs;
};

int newFile(const char* name, std::size_t bytes) {
    const int fd = memfd_create(name, 0);
    if (fd < 0 || ftruncate(fd, static_cast<off_t>(bytes)) != 0) std::abort();
    return fd;
}

/// A file in two adjacent parts of this process's memory.
File newRemote() {
    static std::array<std::byte, kFileBytes> memory;
    const int fd = open("/proc/self/mem", O_RDONLY);
    if (fd < 0) std::abort();
    const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
    constexpr std::size_t kFirst = 1000;
    return {addRemote({fd, {{0, kFirst, address}, {kFirst, kFileBytes, address + kFirst}}}), kFileBytes,
            memory.data()};
}

const Files& files() {
    static const Files all{{{{newFile("a", kFileBytes), kFileBytes},
                             {newFile("b", kFileBytes), kFileBytes},
                             {newFile("short", kShortBytes), kShortBytes},
                             newRemote()}},
                           {newFile("one", 0), newFile("other", 0)}};
    return all;
}

/// Node n of a program, until the number of its sources is known.
constexpr ValueId kNode = 1u << 31;

class Maker {
  public:
    Maker(const std::uint8_t* data, std::size_t size) : data_(data, size) {}

    void fill() {
        std::vector<std::uint8_t> bytes = data_.ConsumeBytes<std::uint8_t>(below(256) + 1);
        if (bytes.empty()) bytes.push_back(0x3C);
        static std::vector<std::uint8_t> content(kFileBytes);
        for (const File& file : files().inputs) {
            for (std::size_t at = 0; at < file.bytes; at += bytes.size())
                std::memcpy(&content[at], bytes.data(), std::min(bytes.size(), file.bytes - at));
            if (file.memory != nullptr)
                std::memcpy(file.memory, content.data(), file.bytes);
            else if (pwrite(file.fd, content.data(), file.bytes, 0) < 0)
                std::abort();
            bytes.push_back(bytes.front());
        }
    }

    std::uint64_t below(std::uint64_t end) { return data_.ConsumeIntegralInRange<std::uint64_t>(0, end - 1); }
    bool once(std::uint64_t in) { return below(in) == in - 1; }
    bool flip() { return data_.ConsumeBool(); }
    std::uint64_t key() { return data_.ConsumeIntegral<std::uint64_t>(); }

    /// Mostly `right`; else a number near it, or any that a caller can pass.
    std::uint64_t about(std::uint64_t right) {
        if (!once(24)) return right;
        return flip() ? right + below(5) - std::min<std::uint64_t>(right, 2) : below(kMostInteger + 1);
    }

    double number() {
        constexpr double some[] = {0, -0.0, 1, -1, 0.5, 1.0 / 3, -2.75, 1e-3, 1e30, -1e38, 1e-45};
        return flip() ? some[below(std::size(some))] : data_.ConsumeFloatingPoint<double>();
    }
    float real() { return static_cast<float>(std::clamp(number(), -3e38, 3e38)); }

    template <class Enumeration>
    Enumeration one(Enumeration last) {
        return static_cast<Enumeration>(below(static_cast<std::uint64_t>(last) + 1));
    }
    DType dtype() { return one(DType::F8_E5M2); }
    DType byteDType() { return once(16) ? dtype() : flip() ? DType::F8_E4M3 : DType::F8_E5M2; }
    Rows rows() { return one(Rows::Output); }

    std::vector<double> numbers(std::size_t count) {
        std::vector<double> all(std::min<std::uint64_t>(about(count), 4096));
        for (double& one : all) one = number();
        return all;
    }
    std::vector<float> reals(std::size_t count) {
        std::vector<float> all(std::min<std::uint64_t>(about(count), 4096));
        for (float& one : all) one = real();
        return all;
    }

    /// `bytes` bytes of a file, at its end or before.
    Location in(std::uint64_t bytes) {
        const File& file = files().inputs[once(16) ? 2 : once(4) ? 3 : below(2)];
        if (once(64)) return {-1, about(0)};
        const std::uint64_t most = file.bytes > bytes ? file.bytes - bytes : 0;
        return {file.fd, about(flip() ? most : below(most + 1))};
    }
    Location to() { return {files().outputs[0], about(below(64))}; }

    Program program() {
        Program made{};
        made.columns = about(below(4) == 0 ? 256 : 1 + below(40));
        const std::uint64_t rows = 1 + below(8);
        const std::uint64_t columns = std::min<std::uint64_t>(made.columns, 256);
        made.first = about(flip() ? 0 : flip() ? columns * below(4) : below(64));
        made.count = about(flip() ? columns * rows : below(300));
        const std::uint64_t sources = below(5);
        for (std::uint64_t s = 0; s < sources; ++s)
            addSource(made, flip() ? Slicing::Elements : Slicing::Rows);
        if (made.sources.empty() && !once(4)) addSource(made, Slicing::Elements);
        const std::uint64_t nodes = below(5);
        for (std::uint64_t n = 0; n < nodes; ++n) addNode(made);
        settle(made);
        while (!made.nodes.empty() && made.watched.size() < 3 && flip())
            made.watched.push_back(valueOf(made));
        return made;
    }

    Program matrices(std::uint64_t rows, std::uint64_t columns, std::uint64_t count) {
        Program made{};
        made.columns = columns;
        made.count = rows * columns;
        for (std::uint64_t s = 0; s < count; ++s) addSource(made, Slicing::Elements);
        return made;
    }

    ValueId valueOf(const Program& of) {
        const auto all = static_cast<std::uint64_t>(of.sources.size() + of.nodes.size());
        return static_cast<ValueId>(about(all == 0 ? 0 : below(all)));
    }

    std::vector<ValueId> valuesOf(const Program& of, std::uint64_t count) {
        std::vector<ValueId> all;
        for (std::uint64_t v = 0; v < count; ++v) all.push_back(valueOf(of));
        return all;
    }

    Measure measure(const Program& of, std::span<std::uint32_t> counts) {
        const std::uint64_t some = 1 + below(3);
        static_assert(std::variant_size_v<Measure> == 16, "a measure has no case here");
        switch (below(16)) {
            case 0:
                return Gram{valuesOf(of, some)};
            case 1:
                return RowGram{valuesOf(of, some)};
            case 2:
                return ColumnGram{valuesOf(of, some)};
            case 3:
                return Magnitudes{valueOf(of)};
            case 4:
                return RowMagnitudes{valueOf(of)};
            case 5:
                return ColumnMagnitudes{valueOf(of)};
            case 6:
                return ColumnSums{valueOf(of)};
            case 7:
                return Overlaps{valuesOf(of, some)};
            case 8:
                return NonFinite{valueOf(of), valuesOf(of, some), valuesOf(of, some)};
            case 9: {
                Window window{};
                window.low = static_cast<std::uint32_t>(1 + below(0x7F80'0000));
                window.shift = static_cast<std::uint32_t>(below(32));
                const std::uint64_t last = window.low + (below(counts.size()) << window.shift);
                window.last = static_cast<std::uint32_t>(std::min<std::uint64_t>(last, 0x7FFF'FFFF));
                window.wanted = below(kCandidates + 1);
                for (std::uint32_t& candidate : window.candidates)
                    candidate =
                        static_cast<std::uint32_t>(window.low + below(std::uint64_t{window.last} + 1 -
                                                                      std::min(window.low, window.last)));
                for (std::size_t c = window.wanted; c < kCandidates; ++c) window.candidates[c] = kNoMagnitude;
                return Histogram{valueOf(of), window, counts};
            }
            case 10:
                return CountMagnitude{valueOf(of), static_cast<std::uint32_t>(below(1u << 31))};
            case 11:
                return FindMagnitude{valueOf(of), static_cast<std::uint32_t>(below(1u << 31)), about(1)};
            case 12:
                return Divergence{valueOf(of), valueOf(of)};
            case 13:
                return Signs{valueOf(of)};
            case 14:
                return CountAlone{valuesOf(of, some), static_cast<std::uint32_t>(below(1u << 31))};
            default:
                return Difference{valueOf(of), valueOf(of), flip(), flip()};
        }
    }

  private:
    FuzzedDataProvider data_;

    ValueId addSource(Program& to, Slicing slicing, std::uint64_t elements = 0, DType dtype = DType::F64) {
        StoredSource source{};
        source.slicing = slicing;
        source.dtype = slicing == Slicing::Whole ? dtype : this->dtype();
        const std::uint64_t width = sizeOf(source.dtype);
        const auto end = std::min<std::uint64_t>(to.first + to.count, kMostElements);
        if (slicing == Slicing::Rows) {
            source.width = about(1 + below(std::min<std::uint64_t>(to.columns, 64)));
            source.runs = runs<RowRun>(to, source.width);
        }
        source.elements = slicing == Slicing::Whole ? about(elements) : 0;
        source.at =
            in(slicing == Slicing::Rows ? 4096 : (slicing == Slicing::Whole ? elements : end) * width);
        to.sources.push_back(source);
        return static_cast<ValueId>(to.sources.size() - 1);
    }

    template <class Run>
    std::vector<Run> runs(const Program& of, std::uint64_t width, std::uint64_t most = 64) {
        std::vector<Run> all;
        if (width == 0) return all;
        const std::uint64_t begin = of.first / width;
        const std::uint64_t end = (of.first + of.count + width - 1) / width;
        std::uint64_t next = begin;
        while (all.size() < 8 && next < end && !once(8)) {
            const std::uint64_t from = next + below(3), count = 1 + below(4);
            if (from >= end) break;
            all.push_back({about(from), about(below(most)), about(std::min(count, end - from))});
            next = from + count;
        }
        return all;
    }

    /// An earlier value that is not whole; preferably of this dtype.
    ValueId earlier(const Program& of, const DType* dtype = nullptr) {
        std::vector<ValueId> all;
        for (std::size_t s = 0; s < of.sources.size(); ++s)
            if (of.sources[s].slicing != Slicing::Whole &&
                (dtype == nullptr || of.sources[s].dtype == *dtype))
                all.push_back(static_cast<ValueId>(s));
        for (std::size_t n = 0; n < of.nodes.size(); ++n)
            if (dtype == nullptr || of.nodes[n].dtype == *dtype)
                all.push_back(kNode + static_cast<ValueId>(n));
        return all.empty() ? 0 : all[below(all.size())];
    }

    Bound bound() {
        const bool isNone = flip();
        return {isNone ? kNoMagnitude : static_cast<std::uint32_t>(below(1u << 31)), about(below(1000)),
                flip()};
    }

    Codes codes(std::uint64_t rows, std::uint64_t columns) {
        Codes made{one(Codes::Kind::FP4), one(Codes::Order::Down), about(rows), about(columns), 0};
        const std::uint64_t of = made.order == Codes::Order::Interleaved ? 8 : made.bits() == 4 ? 2 : 1;
        made.stride = about((columns + of - 1) / of * of + of * below(2));
        return made;
    }

    static std::uint64_t ceiling(std::uint64_t number, std::uint64_t of) {
        return of == 0 ? 0 : (number + of - 1) / of;
    }

    static std::uint64_t bytesOf(const Codes& codes, std::uint64_t matrices) {
        const bool isDown = codes.order == Codes::Order::Down;
        const std::uint64_t rows = isDown ? ceiling(codes.rows, codes.inWord()) : codes.rows;
        return matrices * rows * (isDown ? codes.stride * 4 : ceiling(codes.stride * codes.bits(), 8));
    }

    void addDequantise(Program& to, Node& node) {
        const auto end = std::min<std::uint64_t>(to.first + to.count, kMostElements);
        const bool transposed = flip();
        const std::uint64_t rows = transposed ? to.columns : 1 + below(9);
        const std::uint64_t columns = transposed ? 1 + below(9) : to.columns;
        Dequantise what{codes(rows, columns),
                        one(Dequantise::Scales::Nested),
                        one(Dequantise::Factor::Divisor),
                        about(1 + below(8)),
                        about(1 + below(16)),
                        transposed,
                        {},
                        once(4),
                        {},
                        real()};
        const std::uint64_t matrices =
            std::max<std::uint64_t>(ceiling(end, std::max<std::uint64_t>(rows * columns, 1)), 1);
        const std::uint64_t down = ceiling(rows, what.blockRows),
                            across = ceiling(columns, what.blockColumns);
        const std::uint64_t blocks = std::min<std::uint64_t>(matrices * down * across, kMostElements);
        const auto whole = [&](std::uint64_t elements, DType dtype) {
            node.inputs.push_back(addSource(to, Slicing::Whole, std::min(elements, kMostElements), dtype));
        };
        constexpr DType floats[] = {DType::F32, DType::BF16, DType::F16, DType::F8_E4M3};
        whole(bytesOf(what.codes, matrices), byteDType());
        const bool isFloats = what.scales == Dequantise::Scales::Floats;
        whole(blocks, isFloats ? floats[below(4)] : byteDType());
        if (what.factor != Dequantise::Factor::None) whole(1, floats[below(4)]);
        if (flip()) {
            what.zeros = Dequantise::ZeroPoints{codes(down, across), once(4)};
            whole(bytesOf(what.zeros->codes, matrices), byteDType());
        }
        if (what.hasGroups) whole(4 * (transposed ? rows : columns), byteDType());
        if (what.scales == Dequantise::Scales::Nested) {
            what.nested = Dequantise::NestedScales{about(1 + below(8)), real()};
            whole(256, floats[below(4)]);
            whole(ceiling(blocks, what.nested->block), floats[below(4)]);
        }
        node.operation = what;
    }

    void addUnpack(Program& to, Node& node) {
        Unpack what{one(Unpack::Type::Q6_K), 0, once(3) ? 2 * (1 + below(3)) : 0, real()};
        what.width = about(std::max(ceiling(to.columns, what.block()), std::uint64_t{1}) * what.block());
        const auto end = std::min<std::uint64_t>(to.first + to.count, kMostElements);
        std::uint64_t rows = ceiling(end, what.width);
        if (what.head != 0) rows = ceiling(rows, what.head) * what.head;
        const std::uint64_t bytes = rows * (what.width / what.block()) * what.blockBytes();
        node.inputs.push_back(
            addSource(to, Slicing::Whole, std::min<std::uint64_t>(bytes, kFileBytes), byteDType()));
        node.operation = what;
    }

    void addProduct(Program& to, Node& node) {
        Product what{about(1 + below(4)), flip(), about(1 + below(2)), about(below(2)), flip()};
        const std::uint64_t ranks = what.rank * what.experts;
        const auto end = std::min<std::uint64_t>(to.first + to.count, kMostElements);
        const std::uint64_t rows = ceiling(ceiling(end, to.columns) + what.row, what.experts) + below(2);
        const std::uint64_t ofColumns = std::min(to.columns * ranks, kMostElements);
        const std::uint64_t ofRows = std::min(rows * ranks, kMostElements);
        for (const std::uint64_t elements :
             {what.transposed ? ofRows : ofColumns, what.transposed ? ofColumns : ofRows})
            node.inputs.push_back(addSource(to, Slicing::Whole, elements, dtype()));
        node.operation = what;
    }

    void addFactored(Program& to, Node& node) {
        const std::uint64_t rows = about(1 + ceiling(std::min(to.first + to.count, kMostElements), to.columns));
        const std::uint64_t rank = about(below(3)), columns = about(to.columns);
        const std::uint64_t length = rank == 0 ? rows * columns : rank * (rows + columns);
        SmallMatrix matrix{rows, columns, rank, numbers(std::min<std::uint64_t>(length, kMostElements))};
        Factored what{once(4), {matrix}};
        if (what.kronecker) what.factors.push_back({1, 1, 0, numbers(1)});
        node.operation = std::move(what);
    }

    void addTurned(Program& to, Node& node) {
        node.inputs.push_back(earlier(to));
        const std::uint64_t size = about(below(5)), block = size == 0 ? to.columns : size * size;
        Turned what{size, numbers(std::min<std::uint64_t>(block * about(1), kMostElements)), {}};
        for (std::uint64_t column = to.columns; flip() && column > 0 && to.columns < 64; --column)
            what.order.push_back(static_cast<double>(about(column - 1)));
        node.operation = std::move(what);
    }

    void addCombineRows(Program& to, Node& node) {
        CombineRows what{};
        what.width = about(1 + below(std::min<std::uint64_t>(to.columns, 64)));
        const std::uint64_t width = std::max<std::uint64_t>(what.width, 1);
        const std::uint64_t rows = 1 + below(8);
        what.first = about(to.first / width);
        const std::uint64_t end = ceiling(std::min(to.first + to.count, to.first + kMostElements), width);
        what.starts.push_back(0);
        for (std::uint64_t row = to.first / width; row < end && what.starts.size() < 512; ++row) {
            for (std::uint64_t term = below(3); term > 0; --term)
                what.terms.push_back({about(below(rows)), number()});
            what.starts.push_back(about(what.terms.size()));
        }
        node.inputs.push_back(addSource(to, Slicing::Whole, std::min(rows * width, kMostElements), dtype()));
        node.operation = std::move(what);
    }

    void addNode(Program& to) {
        Node node{Variance{}, dtype(), {}};
        const auto inputs = [&](std::uint64_t count) {
            for (std::uint64_t i = 0; i < count; ++i) node.inputs.push_back(earlier(to));
        };
        const std::uint64_t some = about(1 + below(4)) % 70;
        const std::uint64_t end = std::min<std::uint64_t>(to.first + to.count, kMostElements);
        const std::uint64_t allRows = ceiling(end, to.columns),
                            columns = std::min<std::uint64_t>(to.columns, 4096);
        const auto ofRows = [&](Rows sense) { return sense == Rows::Input ? columns : allRows; };
        // Bits stay as they are: the node's dtype is that of its inputs.
        const auto alike = [&](std::uint64_t count) {
            for (std::uint64_t i = 0; i < count; ++i)
                node.inputs.push_back(earlier(to, i == 0 ? nullptr : &node.dtype));
            if (!node.inputs.empty() && !once(16)) node.dtype = dtypeOf(to, node.inputs[0], node.dtype);
        };
        static_assert(std::variant_size_v<NodeOperation> == 21, "an operation has no case here");
        switch (below(21)) {
            case 0:
                inputs(some);
                node.operation = Linear{numbers(some)};
                break;
            case 1: {
                inputs(some);
                const Rows sense = rows();
                node.operation = RowLinear{sense, numbers(ofRows(sense) * some)};
                break;
            }
            case 2:
                inputs(about(2) % 8);
                node.operation = Keep{bound(), bound(), real()};
                break;
            case 3:
                inputs(1);
                node.operation = Drop{key(), number(), real()};
                break;
            case 4:
                inputs(1);
                node.operation = DropRanked{key(), number(), number(), real()};
                break;
            case 5:
                node.operation = Random{key(), one(Random::Distribution::Uniform), real()};
                break;
            case 6: {
                inputs(some + 1);
                const bool each = flip();
                node.operation = Vote{{flip(), flip(), flip(), one(Divisor::Count), real(), real(), each},
                                      reals(each ? 2 * some : some)};
                break;
            }
            case 7:
                inputs(some);
                node.operation = Variance{};
                break;
            case 8:
                inputs(2);
                node.operation = NearSwap{real()};
                break;
            case 9:
                inputs(2 * some);
                node.operation = Fisher{reals(some), real()};
                break;
            case 10:
                inputs(2);
                node.operation = Importance{numbers(allRows)};
                break;
            case 11: {
                alike(2);
                const Rows sense = rows();
                std::vector<std::uint8_t> kept(std::min<std::uint64_t>(about(ofRows(sense)), 4096));
                for (std::uint8_t& one : kept) one = flip();
                node.operation = Select{sense, std::move(kept)};
                break;
            }
            case 12: {
                alike(some);
                Assemble what{about(1 + below(columns)), {}};
                what.runs = runs<InputRun>(to, what.width, std::max<std::uint64_t>(some, 1));
                node.operation = std::move(what);
                break;
            }
            case 13:
                alike(1);
                node.operation = FillRows{about(below(8)), numbers(columns)};
                break;
            case 14:
                addCombineRows(to, node);
                break;
            case 15:
                addProduct(to, node);
                break;
            case 16:
                addDequantise(to, node);
                break;
            case 17: {
                inputs(1);
                Quantise what{one(Quantise::Scheme::Nvfp4), flip(), about(allRows), about(1 + below(3)),
                              about(1 + below(20)),         real()};
                what.largest = once(16) ? what.largest : std::abs(what.largest);
                if (!once(16)) node.dtype = what.codes ? DType::F8_E4M3 : DType::F32;
                node.operation = what;
                break;
            }
            case 18:
                addFactored(to, node);
                break;
            case 19:
                addTurned(to, node);
                break;
            default:
                addUnpack(to, node);
        }
        to.nodes.push_back(std::move(node));
    }

    static DType dtypeOf(const Program& of, ValueId value, DType otherwise) {
        if (value >= kNode) return of.nodes[value - kNode].dtype;
        return value < of.sources.size() ? of.sources[value].dtype : otherwise;
    }

    /// Numbers nodes after the sources.
    static void settle(Program& made) {
        for (Node& node : made.nodes)
            for (ValueId& input : node.inputs)
                if (input >= kNode) input = input - kNode + static_cast<ValueId>(made.sources.size());
    }
};

/// True for what runs in no time.
bool isSmall(const Program& program) {
    return program.count <= kMostElements && program.first <= 1 << 20 && program.columns <= kMostElements &&
           std::ranges::all_of(program.sources,
                               [](const StoredSource& source) { return source.elements <= 4 * kFileBytes; });
}

/// True if a program's sources lie within their files, as far as its slice needs them.
bool isWithin(const Program& program) {
    return std::ranges::all_of(program.windows(), [](const Range& range) {
        return std::ranges::any_of(files().inputs, [&](const File& file) {
            return file.fd == range.fd && range.offset + range.length <= file.bytes;
        });
    });
}

[[noreturn]] void wrong(const char* what) {
    std::fprintf(stderr, "%s\n", what);
    std::abort();
}

std::vector<char> contentOf(int fd) {
    const off_t bytes = lseek(fd, 0, SEEK_END);
    std::vector<char> content(static_cast<std::size_t>(std::min<off_t>(bytes, 1 << 22)));
    if (pread(fd, content.data(), content.size(), 0) < 0) std::abort();
    return content;
}

/// A run's results and output, which must be the same on every instruction set.
struct Found {
    Status status;
    std::vector<double> numbers;
    std::vector<char> written;
};

using Run = std::function<Status(const Kernels&, int output, std::vector<double>& numbers, Control)>;

void compare(const Run& run, bool isWithinFiles) {
    std::vector<Found> found;
    for (const Kernels* kernels : {availableKernels().front(), availableKernels().back()}) {
        const int output = files().outputs[found.size()];
        if (ftruncate(output, 0) != 0) std::abort();
        std::int64_t words[kControlWords] = {};
        Found one;
        one.status = run(*kernels, output, one.numbers, Control(words));
        if (one.status.outcome == Outcome::InputShrank && isWithinFiles)
            wrong("a read beyond the end of a file");
        one.written = contentOf(output);
        found.push_back(std::move(one));
    }
    const auto& [a, b] = std::tie(found[0], found[1]);
    if (a.status.outcome != b.status.outcome) wrong("instruction sets end in different ways");
    if (a.status.outcome != Outcome::Done) return;
    if (a.written != b.written) wrong("instruction sets write different bits");
    for (std::size_t n = 0; n < a.numbers.size(); ++n)
        // JavaScript has only one NaN.
        if (std::memcmp(&a.numbers[n], &b.numbers[n], sizeof(double)) != 0 &&
            !(std::isnan(a.numbers[n]) && std::isnan(b.numbers[n]))) {
            std::fprintf(stderr, "number %zu: %.17g and %.17g\n", n, a.numbers[n], b.numbers[n]);
            wrong("instruction sets find different numbers");
        }
}

Location at(Location to, int output) { return {to.fd == files().outputs[0] ? output : to.fd, to.begin}; }

void fuzzCompute(Maker& maker) {
    Compute compute{maker.program(), {}};
    const Program& program = compute.program;
    const auto values = static_cast<ValueId>(program.sources.size() + program.nodes.size());
    const std::uint64_t outputs = 1 + maker.below(2);
    for (std::uint64_t o = 0; o < outputs; ++o) {
        const ValueId value = maker.once(4) ? maker.valueOf(program) : values - 1 - static_cast<ValueId>(o);
        if (value >= values) continue;
        const bool scales = maker.once(8);
        compute.outputs.push_back({value, maker.to(), scales ? DType::F32 : program.dtypeOf(value), scales});
    }
    std::vector<std::int64_t> tally;
    if (!program.nodes.empty() && std::holds_alternative<Vote>(program.nodes.back().operation) &&
        maker.flip())
        tally.resize(tallyWords(program.nodes.back().inputs.size() - 1));
    compute.tally = tally;
    check(Job(compute));
    if (!isSmall(program)) return;
    compare(
        [&](const Kernels& kernels, int output, std::vector<double>&, Control control) {
            Compute own = compute;
            for (Output& one : own.outputs) one.to = at(one.to, output);
            return run(kernels, Job(own), control);
        },
        isWithin(program));
}

void fuzzCopy(Maker& maker) {
    const std::uint64_t first = maker.about(maker.below(64)), count = maker.about(maker.below(5000));
    Job job = Copy{maker.in(first + count), maker.to(), first, count};
    if (maker.flip()) {
        Same same{{}, maker.to(), first, count};
        for (std::uint64_t s = maker.below(4); s > 0; --s) same.sources.push_back(maker.in(first + count));
        job = same;
    }
    check(job);
    if (count > kMostElements || first > kMostElements) return;
    compare(
        [&](const Kernels& kernels, int output, std::vector<double>&, Control control) {
            Job own = job;
            std::visit(
                [&](auto& one) {
                    if constexpr (requires { one.to; }) one.to = at(one.to, output);
                },
                own);
            return run(kernels, own, control);
        },
        false);
}

void fuzzMeasure(Maker& maker) {
    std::vector<std::uint32_t> counts(64);
    Measurement what{maker.program(), {}};
    const std::uint64_t measures = 1 + maker.below(4);
    for (std::uint64_t m = 0; m < measures; ++m) what.measures.push_back(maker.measure(what.program, counts));
    if (!isSmall(what.program)) return;
    check(what.program);
    std::vector<std::size_t> sizes;
    for (const Measure& measure : what.measures) sizes.push_back(sizeOf(measure, what.program));
    const bool isOff = maker.once(32);
    std::size_t all = isOff ? 1 : 0;
    for (const std::size_t size : sizes) all += size;
    compare(
        [&](const Kernels& kernels, int, std::vector<double>& numbers, Control control) {
            numbers.resize(all);
            std::ranges::fill(counts, 0);
            std::vector<std::span<double>> out;
            std::size_t at = 0;
            for (const std::size_t size : sizes) {
                out.push_back(std::span(numbers).subspan(at, size + (isOff && at == 0)));
                at += size + (isOff && at == 0);
            }
            check(what, out);
            const Status status = measure(kernels, what, out, control);
            numbers.insert(numbers.end(), counts.begin(), counts.end());
            return status;
        },
        isWithin(what.program));
}

void fuzzSolver(const Solver& solver, bool isWithinFiles) {
    std::visit([](const auto& one) { one.check(); }, solver);
    compare(
        [&](const Kernels& kernels, int output, std::vector<double>& numbers, Control control) {
            Solver own = solver;
            std::visit(
                [&](auto& one) {
                    if constexpr (requires { one.to; }) one.to = at(one.to, output);
                    if constexpr (requires { one.left; }) one.left = at(one.left, output);
                    if constexpr (requires { one.right; }) one.right = at(one.right, output);
                    numbers.resize(one.size());
                },
                own);
            check(own, numbers);
            return solve(kernels, own, numbers, control);
        },
        isWithinFiles);
}

void fuzzFactorise(Maker& maker) {
    const std::uint64_t rows = 1 + maker.below(12), columns = 1 + maker.below(12);
    Factorisation what{maker.flip() ? maker.matrices(rows, columns, 2) : maker.program(),
                       0,
                       maker.about(1 + maker.below(std::min(rows, columns))),
                       1,
                       maker.key(),
                       maker.flip(),
                       maker.dtype(),
                       maker.to(),
                       maker.to()};
    what.value = maker.valueOf(what.program);
    if (maker.flip()) what.share = maker.number();
    what.right.begin += 1 << 16;
    what.check();
    if (isSmall(what.program)) fuzzSolver(what, isWithin(what.program));
}

void fuzzRegress(Maker& maker) {
    const std::uint64_t rows = 1 + maker.below(8), columns = 1 + maker.below(8), models = 1 + maker.below(3);
    Regression what{maker.matrices(rows, columns, models),
                    {},
                    maker.matrices(columns, maker.about(columns) % 64 + 1, models),
                    {},
                    maker.numbers(models),
                    maker.number(),
                    maker.number(),
                    maker.dtype(),
                    maker.to()};
    if (!maker.once(8)) what.grams = maker.matrices(columns, columns, models);
    for (std::uint64_t m = 0; m < models; ++m) {
        what.values.push_back(maker.valueOf(what.matrices));
        what.of.push_back(maker.valueOf(what.grams));
    }
    if (!maker.once(8)) {
        for (double& share : what.shares) share = 1.0 / static_cast<double>(models);
        what.scaling = 0.9;
        what.ridge = 0.01;
    }
    fuzzSolver(what, isWithin(what.matrices) && isWithin(what.grams));
}

void fuzzSpectral(Maker& maker) {
    const std::uint64_t sources = 1 + maker.below(3);
    Spectral what{maker.one(SpectralRule::TsvM),
                  maker.matrices(1 + maker.below(10), 1 + maker.below(10), sources + 1),
                  0,
                  {},
                  maker.number(),
                  maker.dtype(),
                  maker.to()};
    what.base = maker.valueOf(what.program);
    what.sources = maker.valuesOf(what.program, sources);
    fuzzSolver(what, isWithin(what.program));
}

void fuzzPursue(Maker& maker) {
    const std::uint64_t columns = 1 + maker.below(12), atoms = 1 + maker.below(8),
                        targets = 1 + maker.below(4);
    Pursuit what{maker.matrices(atoms, columns, 1), maker.matrices(targets, columns, 1),
                 maker.about(1 + maker.below(atoms))};
    fuzzSolver(what, isWithin(what.atoms) && isWithin(what.targets));
}

void fuzzHash(Maker& maker) {
    std::vector<HashedRange> ranges;
    const std::uint64_t count = 1 + maker.below(2);
    for (std::uint64_t r = 0; r < count; ++r) {
        const bool last = maker.flip();
        const std::uint64_t length = maker.about(last ? maker.below(9000) : kSha256Block * maker.below(100));
        const Location from = maker.in(length);
        const std::uint64_t blocks = kSha256Block * maker.below(from.begin / kSha256Block + 1);
        ranges.push_back({{from.fd, from.begin, length}, maker.about(from.begin - blocks), last});
    }
    std::vector<std::uint32_t> states(maker.about(count * kSha256Words) % 64);
    check(ranges, states);
    if (sha256() == nullptr ||
        std::ranges::any_of(ranges, [](const HashedRange& one) { return one.range.length > kFileBytes; }))
        return;
    std::int64_t words[kControlWords] = {};
    hash(*sha256(), ranges, states, Control(words));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 16) return 0;
    Maker maker(data, size);
    const std::uint64_t door = maker.below(16);
    maker.fill();
    try {
        switch (door) {
            case 0:
                fuzzCopy(maker);
                break;
            case 1:
                fuzzHash(maker);
                break;
            case 2:
                fuzzFactorise(maker);
                break;
            case 3:
                fuzzRegress(maker);
                break;
            case 4:
                fuzzSpectral(maker);
                break;
            case 5:
                fuzzPursue(maker);
                break;
            case 6:
            case 7:
            case 8:
                fuzzMeasure(maker);
                break;
            default:
                fuzzCompute(maker);
        }
    } catch (const BadJob&) {
        // Correctly refused by the checks.
    }
    return 0;
}
