#!/usr/bin/env python3
"""RegMean by fusion-bench, and Gram matrices by an independent formula.

regmean.py merge JSON        merges `models` by `grams` with fusion-bench's `merging_with_regmean_weights` in float64;
                             prints how far `out` is from that.
regmean.py grams DIR FILE    compares a file of Gram matrices with the mean of x xᵀ over the tokens of DIR.jsonl,
                             computed by NumPy from inputs in float64.
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import load_file


def grams_in(path):
    tensors = load_file(path)
    with safe_open(path, "pt") as file:
        shared = json.loads(file.metadata()["shared"])
    return {**tensors, **{name: tensors[owner] for name, owner in shared.items()}}


def merge(check):
    from fusion_bench.method.regmean.regmean import merging_with_regmean_weights

    torch.set_default_dtype(torch.float64)
    tensors = [load_file(Path(model) / "model.safetensors") for model in check["models"]]
    grams = [grams_in(path) for path in check["grams"]]
    merged = merging_with_regmean_weights(
        models_to_merge_param_dict={name: [one[name].double() for one in tensors] for name in tensors[0]},
        models_to_merge_regmean_weights_list=[
            {name.removesuffix(".weight"): gram.double() for name, gram in one.items()} for one in grams
        ],
        reduce_non_diagonal_ratio=check["scaling"],
    )
    ours = load_file(Path(check["out"]) / "model.safetensors")
    assert ours.keys() == merged.keys()
    most, moved = 0.0, 0.0
    for name, theirs in merged.items():
        largest = float(torch.stack([one[name].double().abs() for one in tensors]).max())
        mean = torch.stack([one[name].double() for one in tensors]).mean(dim=0)
        most = max(most, float((ours[name].double() - theirs).abs().max()) / largest)
        if name in grams[0]:
            moved = max(moved, float((theirs - mean).abs().max()) / largest)
    print(json.dumps({"tensors": len(merged), "solved": len(grams[0]), "most": most, "moved": moved}))


def grams(root, path):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(root, dtype=torch.float64)
    tokenizer = AutoTokenizer.from_pretrained(root)
    rows = [json.loads(line)["text"] for line in Path(f"{root}.jsonl").read_text().splitlines()]
    seen = {}
    for name, module in model.named_modules():
        if isinstance(module, torch.nn.Linear):
            def hook(_, given, __, name=name):
                seen.setdefault(f"{name}.weight", []).append(given[0][0].detach().numpy())
            module.register_forward_hook(hook)
    with torch.no_grad():
        for row in rows:
            model(**tokenizer(row, return_tensors="pt"))
    found, most = grams_in(path), 0.0
    for name, inputs in seen.items():
        x = np.concatenate(inputs)
        want = x.T @ x / len(x)
        most = max(most, float(np.abs(found[name].double().numpy() - want).max() / np.abs(want).max()))
    symmetric = all(bool((gram == gram.T).all()) for gram in found.values())
    print(json.dumps({"same": sorted(found) == sorted(seen), "most": most, "symmetric": symmetric}))


if __name__ == "__main__":
    command, *given = sys.argv[1:]
    if command == "merge":
        merge(json.loads(given[0]))
    else:
        grams(*given)
