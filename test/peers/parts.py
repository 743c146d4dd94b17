#!/usr/bin/env python3
"""Parts of bfloat16 models in NumPy: parts.py check MERGED PARTS.json, or parts.py choose BASE TASK LANG TAU
layer|module

`check` assembles parts, compares a merge with them, and prints how many tensors were copied and averaged.
`choose` prints the source of each layer or module by the rule of arXiv 2601.22620.

PARTS.json is a list of [[[MODEL, WEIGHT], ...], LAYERS or null, PATTERN or null]. The first entry that fits a
tensor's layer (null: outside the layers; "*": anywhere) and name gives it.
"""
import json
import re
import sys
from pathlib import Path

import numpy as np


def tensors_of(directory):
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


def check(merged, parts):
    merged, parts = tensors_of(merged), json.loads(Path(parts).read_text())
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


def choose(base, task, language, tau, unit):
    base, *experts = (tensors_of(model) for model in (base, task, language))
    changes = [{}, {}]
    for name, stored in base.items():
        found = re.search(r'\.layers\.(\d+)\.(self_attn|mlp)\.', name)
        if not found or 'proj' not in name:
            continue
        key = (int(found[1]), found[2] if unit == 'module' else None)
        before = widen(stored).astype(np.float64)
        for sums, expert in zip(changes, experts):
            relative = np.linalg.norm(widen(expert[name]) - before) / np.linalg.norm(before)
            sums[key] = sums.get(key, 0) + (relative**2 if unit == 'module' else relative)
    shares = []
    for sums in changes:
        values = np.array([sums[key] for key in sorted(sums, key=str)])
        values = np.sqrt(values) if unit == 'module' else values
        shares.append(values / values.sum())
    keys = sorted(changes[0], key=str)
    chosen = {}
    for (layer, module), difference in zip(keys, shares[0] - shares[1]):
        kind = 'task' if difference > tau else 'language' if difference < -tau else 'blend'
        chosen[f'{layer} {module or "layer"}'] = [kind, abs(abs(difference) - tau)]
    print(json.dumps(chosen))


if sys.argv[1] == 'check':
    check(*sys.argv[2:])
else:
    choose(*sys.argv[2:5], float(sys.argv[5]), sys.argv[6])
