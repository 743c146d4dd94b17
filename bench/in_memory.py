#!/usr/bin/env python3
"""Memory of Python and of the engine while a merge of large models is made in memory and read.

    python bench/in_memory.py [--layers 5] [--dir DIR]

Merges two models of the shapes of Llama 3.1 8B in bfloat16 (5 layers: 4.28 GB each), which are sparse files in DIR.
Python needs layerloom and NumPy with ml_dtypes. Prints the most private memory (RssAnon) of both processes, sampled
every 20 ms, and of Python's the shared memory that it has touched (RssShmem), after each step.
"""

import argparse
import json
import os
import tempfile
import threading
import time
from pathlib import Path

import layerloom
from layerloom import _engine

parser = argparse.ArgumentParser()
parser.add_argument("--layers", type=int, default=5)
parser.add_argument("--dir", default=tempfile.gettempdir())
options = parser.parse_args()

LAYER = {
    "input_layernorm": [4096],
    "post_attention_layernorm": [4096],
    "self_attn.q_proj": [4096, 4096],
    "self_attn.k_proj": [1024, 4096],
    "self_attn.v_proj": [1024, 4096],
    "self_attn.o_proj": [4096, 4096],
    "mlp.gate_proj": [14336, 4096],
    "mlp.up_proj": [14336, 4096],
    "mlp.down_proj": [4096, 14336],
}


def write_sparse(directory: Path) -> int:
    """Writes a model of zeros that takes no room; returns its bytes."""
    shapes = {"model.embed_tokens": [128256, 4096], "model.norm": [4096], "lm_head": [128256, 4096]}
    shapes |= {f"model.layers.{layer}.{name}": shape for layer in range(options.layers) for name, shape in LAYER.items()}
    header, end = {}, 0
    for name, shape in shapes.items():
        begin, end = end, end + 2 * (shape[0] * shape[1] if len(shape) > 1 else shape[0])
        header[f"{name}.weight"] = {"dtype": "BF16", "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    directory.mkdir()
    with open(directory / "model.safetensors", "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + end)
    return end


def megabytes(pid: int, key: str) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith(key))) * 1024 / 1e6


most: dict[str, float] = {}


def watch(pids: dict[str, int], done: threading.Event) -> None:
    while not done.wait(0.02):
        for name, pid in pids.items():
            most[name] = max(most.get(name, 0), megabytes(pid, "RssAnon"))


with tempfile.TemporaryDirectory(dir=options.dir) as place:
    size = [write_sparse(Path(place, name)) for name in "ab"][0]
    print(f"two models of {size / 1e9:.2f} GB, {options.layers} layers\n\n| step | s | Python private MB, most | engine private MB, most | Python shared MB |\n| --- | --- | --- | --- | --- |")
    layerloom.inspect(f"{place}/a")
    (engine,) = _engine.running
    pids, done = {"python": os.getpid(), "engine": engine.process.pid}, threading.Event()
    threading.Thread(target=watch, args=(pids, done), daemon=True).start()
    merged = None
    for step in ("nothing yet", "merge", "every tensor as an array", "every page read", "freed"):
        most.clear()
        start = time.perf_counter()
        if step == "merge":
            merged = layerloom.soup([f"{place}/a", f"{place}/b"])
        elif step == "every tensor as an array":
            assert merged is not None and sum(array.size for array in merged.values()) == size // 2
        elif step == "every page read":
            assert merged is not None and not any(array.reshape(-1)[::2048].any() for array in merged.values())
        elif step == "freed":
            merged = None
        seconds = time.perf_counter() - start
        time.sleep(0.1)
        print(f"| {step} | {seconds:.1f} | {most['python']:.0f} | {most['engine']:.0f} | {megabytes(os.getpid(), 'RssShmem'):.0f} |", flush=True)
    done.set()
