#pragma once
#include <algorithm>
#include <cstddef>

#include "../io/guard.hpp"
#include "evaluator.hpp"

namespace layerloom {

/// Moves the evaluator to rows [row, row + count) and calls work() with their bytes guarded. If a source
/// shrinks, `work` is left without unwinding, and leaks what it allocated.
template <class Work>
Status atRows(Evaluator& evaluator, const Program& program, const Windows& windows, Control control,
              std::size_t row, std::size_t count, const Work& work) {
    if (control.cancelled()) return {Outcome::Cancelled};
    const std::uint64_t begin = row * program.columns, elements = count * program.columns;
    const bool whole = guarded(windows.bytes, [&] {
        evaluator.moveTo(begin, elements);
        work();
    });
    if (!whole) return windows.lostPage();
    control.count(program.bytesRead(begin, elements), 0);
    return {};
}

/// Walks over a whole matrix in tiles of `tileRows` rows, and calls work(first row, number of rows) for each.
template <class Work>
Status overTiles(Evaluator& evaluator, const Program& program, const Windows& windows, Control control,
                 std::size_t tileRows, const Work& work) {
    const auto rows = static_cast<std::size_t>(program.count / program.columns);
    for (std::size_t row = 0; row < rows; row += tileRows) {
        const std::size_t count = std::min(tileRows, rows - row);
        const Status status =
            atRows(evaluator, program, windows, control, row, count, [&] { work(row, count); });
        if (status.outcome != Outcome::Done) return status;
    }
    return {};
}

}  // namespace layerloom
