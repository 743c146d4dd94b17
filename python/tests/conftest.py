import json

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from layerloom_train import Partition, read_partition


def make_model(seed: int = 0, tied: bool = True) -> LlamaForCausalLM:
    """A Llama of 4 layers with random weights."""
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=64, hidden_size=16, intermediate_size=32, num_hidden_layers=4, num_attention_heads=2,
        num_key_value_heads=1, max_position_embeddings=32, tie_word_embeddings=tied,
    )
    return LlamaForCausalLM(config)


@pytest.fixture
def model():
    return make_model()


@pytest.fixture
def partition(tmp_path, model) -> Partition:
    """Layers 0 and 3 and the embeddings for the language, 1 and 2 for the task; the last norm for both; no
    part trains k_proj 3."""
    parts = {"language": [], "task": [], "both": ["model.norm.weight"], "neither": ["model.layers.3.self_attn.k_proj.weight"]}
    for name, _ in model.named_parameters():
        if name not in parts["both"] + parts["neither"]:
            parts["task" if ".layers.1." in name or ".layers.2." in name else "language"].append(name)
    path = tmp_path / "partition.json"
    path.write_text(json.dumps({"parts": parts}))
    return read_partition(path)


def copy_of(model) -> dict[str, torch.Tensor]:
    return {name: parameter.detach().clone() for name, parameter in model.named_parameters()}


def moved(model, before: dict[str, torch.Tensor]) -> set[str]:
    """Names of the parameters whose bits changed."""
    return {name for name, parameter in model.named_parameters() if not torch.equal(parameter, before[name])}


def rows(count: int, seed: int, length: int = 8) -> list[dict]:
    generator = torch.Generator().manual_seed(seed)
    found = []
    for _ in range(count):
        ids = torch.randint(0, 64, (length,), generator=generator).tolist()
        found.append({"input_ids": ids, "attention_mask": [1] * length, "labels": ids})
    return found


def uneven_rows(count: int, seed: int) -> list[dict]:
    """Rows of equal length with different numbers of tokens in the loss."""
    found = rows(count, seed)
    for index, row in enumerate(found):
        masked = index % 6
        row["labels"] = [-100] * masked + row["labels"][masked:]
    return found


def batch(count: int, seed: int) -> dict:
    return {key: torch.tensor([row[key] for row in rows(count, seed)]) for key in ("input_ids", "labels")}
