"""Gives models of make_pairs.py small weights: make_weights.py PAIRS OUT CASE...

OUT/tied/CASE/MODEL and OUT/untied/CASE/MODEL have its files, and weights of two layers in float32. With 24
random bits no two magnitudes are equal and no average lies halfway between two bfloat16 numbers, so that each
element of a merge is decided.
"""

import json
import shutil
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file

pairs, out = map(Path, sys.argv[1:3])
cases = sys.argv[3:]
hidden, inner, layers = 16, 24, 2


def weights(rows, tied, seed):
    torch.manual_seed(seed)
    shapes = {"model.embed_tokens.weight": (rows, hidden), "model.norm.weight": (hidden,)}
    if not tied:
        shapes["lm_head.weight"] = (rows, hidden)
    for layer in range(layers):
        prefix = f"model.layers.{layer}."
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            shapes[f"{prefix}self_attn.{name}.weight"] = (hidden, hidden)
        for name in ("gate_proj", "up_proj"):
            shapes[f"{prefix}mlp.{name}.weight"] = (inner, hidden)
        shapes[f"{prefix}mlp.down_proj.weight"] = (hidden, inner)
        for name in ("input_layernorm", "post_attention_layernorm"):
            shapes[f"{prefix}{name}.weight"] = (hidden,)
    return {name: torch.randn(shape) * 0.05 for name, shape in sorted(shapes.items())}


for tied in (True, False):
    for seed, model in enumerate(sorted(path for case in cases for path in (pairs / case).iterdir())):
        target = out / ("tied" if tied else "untied") / model.parent.name / model.name
        shutil.copytree(model, target)
        config = json.loads((target / "config.json").read_text())
        small = {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "hidden_size": hidden,
            "intermediate_size": inner,
            "num_hidden_layers": layers,
            "num_attention_heads": 2,
            "num_key_value_heads": 2,
            "head_dim": 8,
            "tie_word_embeddings": tied,
        }
        config = {**config, **small}
        (target / "config.json").write_text(json.dumps(config, indent=2))
        save_file(weights(config["vocab_size"], tied, seed), target / "model.safetensors", {"format": "pt"})
