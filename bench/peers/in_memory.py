#!/usr/bin/env python3
"""Merges of real experts in memory, by layerloom's Python package and by mergekit's `merge_state_dicts`, in one process.

    python bench/peers/in_memory.py EXPERTS [--rounds 7] [--methods linear ties slerp]

EXPERTS holds the checkpoints base, math-1 and jpn-1 (examples/real-experts). Python needs layerloom, mergekit 0.1.5,
ml_dtypes and safetensors. Prints for each method the medians of interleaved rounds (time, and processor time of both processes), in Markdown, and how far the bits
are apart. Every way ends with a state dict of torch tensors: of mergekit's in its own memory, of layerloom's over
shared memory, of which one element a page is read.
"""

import argparse
import gc
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import layerloom
import torch
from layerloom import _engine, _model
from mergekit.merge_methods import merge_state_dicts
from safetensors.torch import load_file

parser = argparse.ArgumentParser()
parser.add_argument("experts", type=Path)
parser.add_argument("--rounds", type=int, default=7)
parser.add_argument("--methods", nargs="+", default=["linear", "ties", "slerp"])
options = parser.parse_args()
warnings.simplefilter("ignore", layerloom.LayerloomWarning)

State = dict[str, torch.Tensor]
paths = [str(options.experts / name) for name in ("base", "math-1", "jpn-1")]


def load(path: str) -> State:
    """The tensors in this process's memory, none of them a mapped file's."""
    return {name: tensor.clone() for name, tensor in load_file(f"{path}/model.safetensors").items()}


def theirs(method: str, states: list[State], dtype: torch.dtype | None) -> State:
    base, a, b = states
    further = {"dtype": dtype, "out_dtype": torch.bfloat16}
    if method == "linear":
        return merge_state_dicts([a, b], "linear", parameters={"weight": [1, 1]}, **further)
    if method == "slerp":
        return merge_state_dicts([a, b], "slerp", base=0, parameters={"t": 0.4}, **further)
    return merge_state_dicts([base, a, b], "ties", base=0, parameters={"weight": 1.0, "density": 0.5}, **further)


def ours(method: str, models: list) -> State:
    base, a, b = models
    if method == "linear":
        recipe = {"models": [{"model": a, "parameters": {"weight": 1}}, {"model": b, "parameters": {"weight": 1}}]}
    elif method == "slerp":
        recipe = {"base_model": a, "models": [{"model": a}, {"model": b}], "parameters": {"t": 0.4}}
    else:
        recipe = {"base_model": base, "models": [{"model": one, "parameters": {"weight": 1, "density": 0.5}} for one in (a, b)]}
    merged = layerloom.merge({"merge_method": method, "dtype": "bfloat16", **recipe})
    state = {name: merged.tensor(name) for name in merged}
    for name in merged:
        merged.raw(name)[::4096].tobytes()
    return state


def copied(method: str) -> State:
    """As on systems where the engine cannot read Python's memory."""
    with mock.patch.object(_model, "parts_of", lambda *_: None):
        return ours(method, states)


def processor_seconds() -> float:
    """Of this process and of the engine's."""
    (engine,) = _engine.running
    fields = Path(f"/proc/{engine.process.pid}/stat").read_text().rpartition(")")[2].split()
    return time.process_time() + (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def timed(work: Callable[[], State]) -> tuple[tuple[float, float], State]:
    """Returns seconds and processor seconds: these say more on a machine that has other work."""
    gc.collect()
    start, processor = time.perf_counter(), processor_seconds()
    state = work()
    return (time.perf_counter() - start, processor_seconds() - processor), state


def steps(state: State, other: State) -> torch.Tensor:
    """The distance of each element, in units of the last place of bfloat16."""

    def order(tensor: torch.Tensor) -> torch.Tensor:
        bits = tensor.view(torch.int16).to(torch.int32)
        return torch.where(bits < 0, -32768 - bits, bits)

    return torch.cat([(order(state[name]) - order(other[name])).abs().flatten() for name in state])


states = [load(path) for path in paths]
layerloom.soup(paths[:1])
print(f"{torch.get_num_threads()} threads; medians of {options.rounds} interleaved rounds: seconds (least to most), processor seconds\n")
ways: dict[str, Callable[[str], State]] = {
    "layerloom, from files": lambda method: ours(method, paths),
    "layerloom, from tensors in memory": lambda method: ours(method, states),
    "layerloom, from copies of tensors": lambda method: copied(method),
    "mergekit, from files": lambda method: theirs(method, [load_file(f"{path}/model.safetensors") for path in paths], torch.float32),
    "mergekit, from tensors in memory": lambda method: theirs(method, states, torch.float32),
    "mergekit, computing in bfloat16": lambda method: theirs(method, states, None),
}
times: dict[tuple[str, str], list[tuple[float, float]]] = {(way, method): [] for way in ways for method in options.methods}
bits: list[str] = []
for index in range(options.rounds):
    for method in options.methods:
        reference: State = {}
        for way, work in ways.items():
            elapsed, state = timed(lambda: work(method))
            times[way, method].append(elapsed)
            print(f"round {index + 1}: {way}, {method}: {elapsed[0]:.2f} s, processor {elapsed[1]:.2f} s", file=sys.stderr, flush=True)
            if index == 0 and reference:
                apart = steps(reference, state)
                bits.append(f"| {way} | {method} | {apart.numel()} | {int((apart > 0).sum())} | {int(apart.max())} |")
            reference = reference or state
            del state
print(f"| | {' | '.join(options.methods)} |\n|{' --- |' * (1 + len(options.methods))}")
for way in ways:
    cells = [
        f"{statistics.median(wall):.2f} ({min(wall):.2f}–{max(wall):.2f}), {statistics.median(processor):.2f}"
        for (one, _), measured in times.items()
        if one == way
        for wall, processor in [tuple(zip(*measured))]
    ]
    print(f"| {way} | {' | '.join(cells)} |")

print("\n| bits, against layerloom's from files | method | elements | differ | furthest apart, units |\n| --- | --- | --- | --- | --- |")
print("\n".join(bits))
