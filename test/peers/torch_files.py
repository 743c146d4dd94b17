#!/usr/bin/env python3
"""Files written by torch, and the SHA-256 of each tensor's bytes by torch.

torch_files.py make DIR             makes files of all dtypes, ties, views and wrappings, and files to be refused.
torch_files.py convert FROM TO N    saves a checkpoint of safetensors as N files of torch.save, with their index if N > 1.
"""

import argparse
import collections
import hashlib
import json
import os
import shutil
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file

DTYPES = [
    *("float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool"),
    *("uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"),
]


def digest(tensor):
    flat = tensor.detach().contiguous().reshape(-1).view(torch.uint8)
    return hashlib.sha256(flat.numpy().tobytes()).hexdigest()


class RunsCode:
    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return os.system, (f"touch '{self.marker}'",)


def make(root):
    torch.manual_seed(33)
    every = {name: (torch.randn(3, 5) * 50).abs().to(getattr(torch, name)) for name in DTYPES}
    layer = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.LayerNorm(6), torch.nn.BatchNorm1d(6))
    tied = torch.randn(7, 4)
    rows = torch.randn(8, 4)
    accepted = {
        "every.bin": every,
        "module.pt": layer.state_dict(),
        "parameters.pth": collections.OrderedDict(layer.named_parameters()),
        "tied.bin": {"embed": tied, "head": tied, "parameter": torch.nn.Parameter(tied)},
        "views.bin": {"whole": rows, "rows": rows[2:5], "row": rows[7:], "flat": rows.view(-1), "scalar": rows[3, 2]},
        "empty.bin": {"none": torch.zeros(0, 4), "scalar": torch.tensor(2.5), "one": torch.ones(1, 1, 1)},
        "many.bin": {f"layers.{i}.w": torch.full((i % 7,), float(i)) for i in range(5000)},
    }
    training = {"epoch": 3, "step": 2**40, "loss": 0.25, "best": None, "flags": [True, (1, 2, 3, "four")]}
    for key in ("state_dict", "model", "module"):
        accepted[f"under-{key}.pt"] = {key: layer.state_dict(), **training}
    said = {}
    for name, saved in accepted.items():
        torch.save(saved, root / name)
        inner = next((saved[key] for key in ("state_dict", "model", "module") if key in saved), saved)
        said[name] = {
            key: {"shape": list(tensor.shape), "sha256": digest(tensor)} for key, tensor in inner.items()
        }
    one = {"w": torch.ones(2, 3)}
    marker = root / "ran"
    refused = {
        "transposed.bin": ({"w": torch.ones(2, 3).T}, {}),
        "column.bin": ({"w": torch.ones(2, 3)[:, 1]}, {}),
        "expanded.bin": ({"w": torch.ones(1, 3).expand(2, 3)}, {}),
        "negative.bin": ({"w": torch._neg_view(torch.ones(2))}, {}),
        "sparse.bin": ({"w": torch.eye(3).to_sparse()}, {}),
        "quantised.bin": ({"w": torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8)}, {}),
        "complex.bin": ({"w": torch.ones(3, dtype=torch.complex64)}, {}),
        "optimizer.pt": (torch.optim.AdamW(layer.parameters()).state_dict(), {}),
        "whole-module.pt": (layer, {}),
        "namespace.pt": ({"model": one, "args": argparse.Namespace(x=1)}, {}),
        "protocol-4.bin": (one, {"pickle_protocol": 4}),
        "legacy.bin": (one, {"_use_new_zipfile_serialization": False}),
        "code.bin": ({**one, "x": RunsCode(marker)}, {}),
        "code-4.bin": ({**one, "x": RunsCode(marker)}, {"pickle_protocol": 4}),
        "code-legacy.bin": ({**one, "x": RunsCode(marker)}, {"_use_new_zipfile_serialization": False}),
    }
    for name, (saved, options) in refused.items():
        torch.save(saved, root / name, **options)
    torch.jit.save(torch.jit.script(torch.nn.Linear(2, 2)), root / "script.pt")
    print(json.dumps({"accepted": said, "refused": [*refused, "script.pt"]}))


def convert(source, target, shards):
    target.mkdir(parents=True)
    tensors = {}
    for file in sorted(source.glob("*.safetensors")):
        tensors.update(load_file(file))
    names = list(tensors)
    each = -(-len(names) // shards)
    weight_map = {}
    for index in range(shards):
        name = "pytorch_model.bin" if shards == 1 else f"pytorch_model-{index + 1:05}-of-{shards:05}.bin"
        own = names[index * each : (index + 1) * each]
        torch.save(collections.OrderedDict((key, tensors[key]) for key in own), target / name)
        weight_map.update({key: name for key in own})
    if shards > 1:
        (target / "pytorch_model.bin.index.json").write_text(
            json.dumps({"metadata": {"total_size": 0}, "weight_map": weight_map})
        )
    for file in source.iterdir():
        if file.is_file() and not file.name.endswith((".safetensors", ".safetensors.index.json")):
            shutil.copy(file, target / file.name)


if __name__ == "__main__":
    command, *rest = sys.argv[1:]
    if command == "make":
        make(Path(rest[0]))
    else:
        convert(Path(rest[0]), Path(rest[1]), int(rest[2]))
