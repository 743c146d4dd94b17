"""Merges by mergekit and compares with outputs of layerloom, element by element.

Reads [{recipe, ours, out}] from standard input; prints for each the tensors with other shapes, and for the others
the largest difference in units of the last place of bfloat16, or the error that mergekit ends with.
"""

import json
import sys
from pathlib import Path

import torch
import yaml
from mergekit.config import MergeConfiguration
from mergekit.merge import run_merge
from mergekit.options import MergeOptions
from safetensors.torch import load_file
from transformers import AutoTokenizer


def load(directory):
    found = {}
    for file in sorted(Path(directory).glob("*.safetensors")):
        found.update(load_file(file))
    return found


def order(directory, tokens):
    """Rows of an output's embeddings in an order of tokens: mergekit's own order is not the same in every run."""
    ids = AutoTokenizer.from_pretrained(directory).get_vocab()
    tokens = tokens or sorted(ids)
    return tokens, [ids[token] for token in tokens]


def units(a, b):
    """Distance in the order of bfloat16's numbers; zeros of either sign are one."""
    bits = [x.to(torch.bfloat16).view(torch.int16).to(torch.int32) & 0xFFFF for x in (a, b)]
    signed = [torch.where(x >= 0x8000, -(x - 0x8000), x) for x in bits]
    return int((signed[0] - signed[1]).abs().max()) if a.numel() else 0


results = []
for task in json.load(sys.stdin):
    try:
        run_merge(
            MergeConfiguration.model_validate(yaml.safe_load(open(task["recipe"]))),
            task["out"],
            MergeOptions(quiet=True, copy_tokenizer=True),
        )
    except Exception as error:
        results.append({"error": f"{type(error).__name__}: {error}"[:300]})
        continue
    theirs, ours = load(task["out"]), load(task["ours"])
    names = sorted(set(theirs) | set(ours))
    other = [
        f"{name} {list(theirs[name].shape) if name in theirs else None} {list(ours[name].shape) if name in ours else None}"
        for name in names
        if name not in theirs or name not in ours or theirs[name].shape != ours[name].shape
    ]
    same = [name for name in names if name in theirs and name in ours and theirs[name].shape == ours[name].shape]
    tokens, left = order(task["out"], None)
    _, right = order(task["ours"], tokens)
    for name in same:
        rows = theirs[name].shape[0]
        if ("embed_tokens" in name or "lm_head" in name) and max(left) < rows:
            taken = set(left)
            rest = [row for row in range(rows) if row not in taken]
            theirs[name], ours[name] = theirs[name][left + rest], ours[name][right + rest]
    vocabulary = [name for name in same if "embed_tokens" in name or "lm_head" in name]
    results.append(
        {
            "other": other,
            "units": max((units(theirs[name], ours[name]) for name in same), default=0),
            "unequal": sum(
                int((theirs[name].to(torch.bfloat16) != ours[name].to(torch.bfloat16)).sum()) for name in same
            ),
            "rows": [list(ours[name].shape)[0] for name in vocabulary],
        }
    )
json.dump(results, sys.stdout)
