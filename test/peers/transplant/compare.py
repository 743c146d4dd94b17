"""Compares a transplant with mergekit-tokensurgeon's: compare.py OURS THEIRS MODEL DONOR, prints JSON.

Separates copied and approximated rows by mergekit's own matching of tokens.
"""

import json
import sys
from pathlib import Path

import torch
from mergekit.tokenizer.normalization import normalized_vocabulary
from safetensors import safe_open
from transformers import AutoTokenizer

ours, theirs, model, donor = map(Path, sys.argv[1:5])


def tensors(path):
    found = {}
    for file in sorted(path.glob("*.safetensors")):
        with safe_open(file, "pt") as opened:
            found.update({name: opened.get_tensor(name) for name in opened.keys()})
    return found


def vocabulary(path):
    return normalized_vocabulary(AutoTokenizer.from_pretrained(path))


a, b, own = tensors(ours), tensors(theirs), tensors(model)
old, new = vocabulary(model), vocabulary(donor)
shared = sorted(index for token, index in new.items() if token in old)
made = sorted(index for token, index in new.items() if token not in old)
result = {"only_theirs": sorted(set(b) - set(a)), "only_ours": sorted(set(a) - set(b)), "tensors": {}}
result["others_equal"] = all(torch.equal(a[name], b[name]) for name in set(a) & set(b) if a[name].shape == own[name].shape)
for name in sorted(set(a) & set(b)):
    if a[name].shape == own[name].shape:
        continue
    x, y = a[name].double(), b[name].double()
    rows = min(len(x), len(y))
    copied, new_rows = [i for i in shared if i < rows], [i for i in made if i < rows]
    apart = (x[new_rows] - y[new_rows]).abs()
    length = y[new_rows].norm(dim=1)
    relative = (x[new_rows] - y[new_rows]).norm(dim=1) / length.clamp_min(1e-12)
    result["tensors"][name] = {
        "rows": [len(x), len(y)],
        "copied": len(copied),
        "copied_equal": int((a[name][copied] == b[name][copied]).all(dim=1).sum()),
        "made": len(new_rows),
        "made_equal": int((a[name][new_rows] == b[name][new_rows]).all(dim=1).sum()),
        "largest": apart.max().item(),
        "mean": apart.mean().item(),
        "mean_length": length.mean().item(),
        "within_1_percent": int((relative < 0.01).sum()),
        "median_relative": relative.median().item(),
    }
print(json.dumps(result))
