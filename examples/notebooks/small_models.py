"""Small models for notebooks that are given none: a base of random weights, and two experts of it. It needs NumPy only.

`python small_models.py` writes `base`, `math-1` and `swh-1` into the working directory.
"""

import csv
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np

FIGURES = Path(__file__).parents[2] / "docs" / "figures"

LAYERS, HIDDEN, INNER, KEYS = 32, 64, 160, 16

MATRICES = {
    "self_attn.q_proj": (HIDDEN, HIDDEN),
    "self_attn.k_proj": (KEYS, HIDDEN),
    "self_attn.v_proj": (KEYS, HIDDEN),
    "self_attn.o_proj": (HIDDEN, HIDDEN),
    "mlp.gate_proj": (INNER, HIDDEN),
    "mlp.up_proj": (INNER, HIDDEN),
    "mlp.down_proj": (HIDDEN, INNER),
}
"""The columns of the published figures, in their order: [output features, input features]."""

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": HIDDEN,
    "intermediate_size": INNER,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 4,
    "num_key_value_heads": 1,
    "head_dim": KEYS,
    "vocab_size": 257,
    "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-5,
    "tie_word_embeddings": False,
    "bos_token_id": None,
    "eos_token_id": 256,
    "dtype": "float32",
}


def byte_signs() -> list[str]:
    """GPT-2's signs for the 256 bytes: printable ones for themselves, the others from U+0100."""
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = iter(range(256, 512))
    return [chr(byte) if byte in printable else chr(next(others)) for byte in range(256)]


def tokenizer() -> dict[str, Any]:
    """A token for each byte, and one that ends a text."""
    end = {"id": 256, "content": "</s>", "special": True, "normalized": False}
    sides = {"single_word": False, "lstrip": False, "rstrip": False}
    levels = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    vocabulary = {sign: number for number, sign in enumerate([*byte_signs(), "</s>"])}
    return {
        "version": "1.0",
        "added_tokens": [{**end, **sides}],
        "pre_tokenizer": levels,
        "decoder": levels,
        "model": {"type": "BPE", "vocab": vocabulary, "merges": []},
    }


def base_weights() -> dict[str, np.ndarray]:
    random = np.random.default_rng(2410)

    def matrix(*shape: int) -> np.ndarray:
        return random.normal(0, 0.02, shape).astype(np.float32)

    ones = np.ones(HIDDEN, np.float32)
    weights = {"model.embed_tokens.weight": matrix(257, HIDDEN), "lm_head.weight": matrix(257, HIDDEN)}
    weights["model.norm.weight"] = ones
    for layer in range(LAYERS):
        place = f"model.layers.{layer}"
        weights |= {f"{place}.{name}.weight": matrix(*shape) for name, shape in MATRICES.items()}
        weights |= {f"{place}.{name}.weight": ones for name in ("input_layernorm", "post_attention_layernorm")}
    return weights


def fine_tuned(base: dict[str, np.ndarray], figure: str, seed: int) -> dict[str, np.ndarray]:
    """Changes of each matrix the share of input features that a published table says, each of its weights by about 1e-3."""
    random = np.random.default_rng(seed)
    expert = dict(base)
    with open(FIGURES / f"{figure}.csv") as file:
        for layer, *shares in csv.reader(list(file)[1:]):
            for name, share in zip(MATRICES, shares):
                tensor = f"model.layers.{layer}.{name}.weight"
                outputs, inputs = base[tensor].shape
                moved = random.permutation(inputs)[: round(float(share) * inputs)]
                expert[tensor] = base[tensor].copy()
                expert[tensor][:, moved] += random.normal(0, 1e-3, (outputs, len(moved))).astype(np.float32)
    return expert


def write(directory: Path, weights: dict[str, np.ndarray]) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, weight in weights.items():
        begin, end = end, end + weight.nbytes
        header[name] = {"dtype": "F32", "shape": weight.shape, "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    content = b"".join(weight.tobytes() for weight in weights.values())
    (directory / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + content)
    ends = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "</s>", "pad_token": "</s>"}
    files = {"config.json": CONFIG, "tokenizer.json": tokenizer(), "tokenizer_config.json": ends}
    for name, content in files.items():
        (directory / name).write_text(json.dumps(content, indent=2))


def write_experts(directory: str, language: str = "jpn-1") -> str:
    """Writes `base`, `math-1` and a language expert, changed as the paper's Figures 4 and 7 show; returns their directory."""
    base = base_weights()
    write(Path(directory, "base"), base)
    write(Path(directory, "math-1"), fine_tuned(base, "figure-4-math-1", seed=4))
    write(Path(directory, language), fine_tuned(base, "figure-7-japanese-1", seed=7))
    return directory


if __name__ == "__main__":
    write_experts(".", "swh-1")
