#!/usr/bin/env python3
"""Assembles parts of bfloat16 models by NumPy and compares a merge with them: parts.py MERGED PARTS.json

PARTS.json has a list of [[[MODEL, WEIGHT], ...], LAYERS or null, PATTERN or null]: the first that fits a tensor's layer
(null: outside the layers; "*": anywhere) and name gives it. Prints how many tensors were copied and averaged.
"""
import json
import re
import sys
from pathlib import Path

import numpy as np


def tensors_of(directory):
    """Every tensor of a model as its stored bytes, by name."""
    found = {}
    for file in sorted(Path(directory).glob('*.safetensors')):
        data = file.read_bytes()
        end = 8 + int.from_bytes(data[:8], 'little')
        for name, tensor in json.loads(data[8:end]).items():
            if name != '__metadata__':
                begin, stop = tensor['data_offsets']
                assert tensor['dtype'] == 'BF16', name
                found[name] = data[end + begin : end + stop]
    return found


def widen(stored):
    return (np.frombuffer(stored, '<u2').astype(np.uint32) << 16).view(np.float32)


def narrow(values):
    """Rounds to the nearest bfloat16, ties to even."""
    bits = values.view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype('<u2').tobytes()


def assemble(shares, models, name):
    total = sum(weight for _, weight in shares)
    if len(shares) == 1:
        return models[shares[0][0]][name]
    value = None
    for model, weight in shares:
        term = np.float32(weight / total) * widen(models[model][name])
        value = term if value is None else value + term
    return narrow(value)


merged, parts = tensors_of(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text())
models = {model: tensors_of(model) for shares, _, _ in parts for model, _ in shares}
assert set(merged) == set(next(iter(models.values())))
counts = {'copied': 0, 'averaged': 0}
for name, stored in merged.items():
    number = re.search(r'\.layers\.(\d+)\.', name)
    layer = int(number.group(1)) if number else None
    shares = next(
        shares
        for shares, layers, pattern in parts
        if (layers == '*' or (layer is None if layers is None else layer in layers))
        and (pattern is None or re.search(pattern, name))
    )
    assert stored == assemble(shares, models, name), f'{name} is not what {shares} give'
    counts['copied' if len(shares) == 1 else 'averaged'] += 1
print(json.dumps(counts))
