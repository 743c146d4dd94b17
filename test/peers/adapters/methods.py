#!/usr/bin/env python3
"""Merges of two adapters by PEFT, by layerloom and in core space, against the exact merge of their products.

methods.py BASE A B OURS.json    OURS.json: {NAME: {"path": adapter, "of": target}}; prints one JSON object:
for each target
                                 the least error of each rank, and for each merge ‖D − B·A‖ / ‖D‖ over all modules

Targets are computed in float64 from Δ = s·B·A: `sum` (weights 1), `ties` (as in PEFT), `magnitude` (the
largest elements of each Δ, summed). Core space follows Panariello et al. (arXiv 2509.17786): Mᵢ = Uᵀ Δᵢ V
over orthonormal bases of the columns of all B and the rows of all A. The method merges the Mᵢ, and the change
is U · M · Vᵀ.
"""

import json
import os
import sys

os.environ.setdefault("HF_HUB_OFFLINE", "1")
import numpy as np
import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM

RANK, DENSITY = 16, 0.3


def pruned(matrix, density):
    """The largest ⌊density · n⌋ elements."""
    flat = matrix.ravel()
    kept = np.argsort(-np.abs(flat), kind="stable")[: int(density * flat.size)]
    made = np.zeros_like(flat)
    made[kept] = flat[kept]
    return made.reshape(matrix.shape)


def total(matrices):
    return sum(matrices)


def ties(matrices):
    trimmed = np.stack([pruned(matrix, DENSITY) for matrix in matrices])
    sign = np.where(trimmed.sum(0) >= 0, 1, -1)
    agrees = np.sign(trimmed) == sign
    return np.where(agrees, trimmed, 0).sum(0) / np.maximum(agrees.sum(0), 1)


def magnitude(matrices):
    return sum(pruned(matrix, DENSITY) for matrix in matrices)


TARGETS = {"sum": total, "ties": ties, "magnitude": magnitude}
PEFTS = {
    **{kind: "sum" for kind in ("linear", "cat", "svd", "dare_linear", "dare_linear_svd")},
    **{kind: "ties" for kind in ("ties", "ties_svd", "dare_ties", "dare_ties_svd")},
    **{kind: "magnitude" for kind in ("magnitude_prune", "magnitude_prune_svd")},
}


def main():
    base, a, b, ours = sys.argv[1:]
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32), a, adapter_name="a")
    model.load_adapter(b, adapter_name="b")
    ours = json.load(open(ours))
    for name, merge in ours.items():
        model.load_adapter(merge["path"], adapter_name=name)
    for kind in PEFTS:
        more = {} if kind in ("linear", "cat") else {"svd_rank": RANK} if kind == "svd" else {"density": DENSITY}
        if kind.endswith("_svd"):
            more["svd_rank"] = RANK
        model.add_weighted_adapter(["a", "b"], [1.0, 1.0], kind, combination_type=kind, svd_full_matrices=False, **more)
    layers = [module for module in model.modules() if hasattr(module, "get_delta_weight") and "a" in module.lora_A]

    def delta(layer, name):
        factors = [getattr(layer, f"lora_{side}")[name].weight.detach().double().numpy() for side in "BA"]
        return layer.scaling[name] * (factors[0] @ factors[1])

    squares, norms, least, found = {}, {}, {}, {}

    def note(target, name, error):
        key = (target, name)
        found[key] = found.get(key, 0) + float((error**2).sum())

    for layer in layers:
        changes = [delta(layer, "a"), delta(layer, "b")]
        exact = {name: target(changes) for name, target in TARGETS.items()}
        for name, matrix in exact.items():
            norms[name] = norms.get(name, 0) + float((matrix**2).sum())
            values = np.linalg.svd(matrix, compute_uv=False)
            for rank in (RANK, 2 * RANK):
                key = (name, rank)
                least[key] = least.get(key, 0) + float((values[rank:] ** 2).sum())
        for kind, target in PEFTS.items():
            note(target, f"PEFT {kind}", exact[target] - delta(layer, kind))
        for name, merge in ours.items():
            note(merge["of"], name, exact[merge["of"]] - delta(layer, name))
        columns = np.concatenate([layer.lora_B[one].weight.detach().double().numpy() for one in "ab"], axis=1)
        rows = np.concatenate([layer.lora_A[one].weight.detach().double().numpy() for one in "ab"], axis=0)
        u, v = np.linalg.qr(columns)[0], np.linalg.qr(rows.T)[0]
        cores = [u.T @ change @ v for change in changes]
        for name, target in TARGETS.items():
            note(name, "core space", exact[name] - u @ target(cores) @ v.T)
            note(name, "projection on core space", exact[name] - u @ (u.T @ exact[name] @ v) @ v.T)
    print(
        json.dumps(
            {
                "modules": len(layers),
                "least": {
                    target: {str(rank): (least[target, rank] / norms[target]) ** 0.5 for rank in (RANK, 2 * RANK)}
                    for target in TARGETS
                },
                "errors": {
                    target: {name: (error / norms[target]) ** 0.5 for (of, name), error in found.items() if of == target}
                    for target in TARGETS
                },
            }
        )
    )


main()
