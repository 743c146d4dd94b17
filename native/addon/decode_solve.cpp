#include <algorithm>

#include "decode.hpp"

namespace layerloom {
namespace {

constexpr Reader<Solver> kSolvers[] = {
    {"factorise",
     [](const Napi::Object& from) -> Solver {
         return Factorisation{toProgram(from.Get("program")), readValue(from, "value"),
                              readInteger(from, "rank"),      readNumber(from, "share"),
                              readWord64(from, "key"),        readBoolean(from, "transposed"),
                              readDType(from),                toLocation(from.Get("left")),
                              toLocation(from.Get("right"))};
     }},
    {"regress",
     [](const Napi::Object& from) -> Solver {
         return Regression{toProgram(from.Get("matrices")), readValues(from, "values"),
                           toProgram(from.Get("grams")),    readValues(from, "of"),
                           readNumbers<double>(from, "shares"), readNumber(from, "scaling"),
                           readNumber(from, "ridge"),       readDType(from),
                           toLocation(from.Get("to"))};
     }},
    {"mergeSpectra",
     [](const Napi::Object& from) -> Solver {
         constexpr const char* rules[] = {"iso_c", "tsv_m"};
         return Spectral{readName<SpectralRule>(from, "rule", rules), toProgram(from.Get("program")),
                         readValue(from, "base"), readValues(from, "sources"), readNumber(from, "scale"),
                         readDType(from), toLocation(from.Get("to"))};
     }},
    {"pursue",
     [](const Napi::Object& from) -> Solver {
         return Pursuit{toProgram(from.Get("atoms")), toProgram(from.Get("targets")), readInteger(from, "k")};
     }},
};

}  // namespace

SolverCall toSolverCall(const Napi::Value& solver, const Napi::Value& out) {
    SolverCall call{readKind(toObject(solver, "solver"), kSolvers), {}};
    // Read last, as `toSpan` requires.
    call.out = toSpan<double>(out, "out");
    check(call.solver, call.out);
    std::ranges::fill(call.out, 0);
    return call;
}

}  // namespace layerloom
