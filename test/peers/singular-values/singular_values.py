#!/usr/bin/env python3
"""Iso-C and TSV-Merge by fusion-bench, in float64.

singular_values.py models ROOT   writes small random models ROOT/base, a, b and c in float32:
                                 tall, wide and square matrices, three dimensions, embeddings and norms.
singular_values.py merge JSON    merges `models` over `base` with fusion-bench's function of `method`,
                                 times `scale`; prints how far `out` is from that.
"""

import contextlib
import io
import json
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

SHAPES = {
    "model.embed_tokens.weight": (301, 64),
    "model.layers.0.self_attn.q_proj.weight": (64, 64),
    "model.layers.0.self_attn.k_proj.weight": (16, 64),
    "model.layers.0.self_attn.o_proj.weight": (300, 300),
    "model.layers.0.mlp.gate_proj.weight": (520, 270),
    "model.layers.0.mlp.up_proj.weight": (160, 64),
    "model.layers.0.mlp.down_proj.weight": (64, 160),
    "model.layers.0.mlp.gate.weight": (1, 64),
    "model.layers.0.mixer.conv1d.weight": (16, 1, 4),
    "model.layers.0.input_layernorm.weight": (64,),
    "model.norm.weight": (64,),
}


def models(root):
    generator = torch.Generator().manual_seed(7)
    base = {name: torch.randn(shape, generator=generator) for name, shape in SHAPES.items()}
    for name in ("base", "a", "b", "c"):
        directory = Path(root) / name
        directory.mkdir(exist_ok=True)
        # float32 represents these sums exactly, so that the change is the same for all.
        changes = {key: torch.randint(-99, 99, shape, generator=generator) / 2**10 for key, shape in SHAPES.items()}
        tensors = {
            key: (x * 2**10).round() / 2**10 + (0 if name == "base" else changes[key]) for key, x in base.items()
        }
        save_file(tensors, directory / "model.safetensors", metadata={"format": "pt"})
        config = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "num_hidden_layers": 1}
        (directory / "config.json").write_text(json.dumps(config))


def merge(check):
    from fusion_bench.method.isotropic_merging.iso_utils import iso_c
    from fusion_bench.method.task_singular_vector.utils.TSVM_utils import compute_and_sum_svd_mem_reduction

    def numbers(directory):
        tensors = {}
        for file in Path(directory).glob("*.safetensors"):
            tensors.update({name: x.double() for name, x in load_file(file).items()})
        return tensors

    base, ours = numbers(check["base"]), numbers(check["out"])
    changes = [{name: x - base[name] for name, x in numbers(model).items()} for model in check["models"]]
    function = {"iso_c": iso_c, "tsv_m": compute_and_sum_svd_mem_reduction}[check["method"]]
    with contextlib.redirect_stdout(io.StringIO()):
        merged = function(changes, accelerator="cpu", exclude_keys=[name for name in base if ".layers." not in name])
    assert ours.keys() == base.keys() == merged.keys()
    found = {"matrices": 0, "others": 0, "ofChange": 0.0, "ofWeight": 0.0}
    for name, x in merged.items():
        wanted = base[name] + check["scale"] * x
        apart = float((ours[name] - wanted).abs().max())
        found["ofWeight"] = max(found["ofWeight"], apart / float(wanted.abs().max()))
        if ".layers." in name and x.dim() == 2:
            found["matrices"] += 1
            largest = float((wanted - base[name]).abs().max())
            found["ofChange"] = max(found["ofChange"], apart / largest if largest > 0 else apart)
        else:
            found["others"] += 1
    print(json.dumps(found))


if __name__ == "__main__":
    command, given = sys.argv[1:]
    models(given) if command == "models" else merge(json.loads(given))
