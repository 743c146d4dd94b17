"""Trains one model of the experiment, full or LoRA, and keeps what changed: a delta or an adapter."""

from pathlib import Path

import torch
from layerloom_train import Partition, Parts, schedule_of_parts
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, get_linear_schedule_with_warmup

from data import Text

# Each run: the data of its steps, and what they train (None: every parameter; "own": each batch its own side).
RUNS = {
    "math": (("math",), None),
    "language": (("language",), None),
    "mixed": (("math", "language"), None),
    "math-frozen": (("math",), "task"),
    "language-frozen": (("language",), "language"),
    "simultaneous": (("math", "language"), "own"),
}
PART_OF_DATA = {"math": "task", "language": "language"}
RATE = {"full": 5e-5, "lora": 1e-3}
RANK = 8
LONGEST = 96  # tokens of a text in training


def load_model(base: Path, delta: Path | None = None):
    model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    if delta is not None:
        add_delta(model, load_file(delta), 1.0)
    return model


@torch.no_grad()
def add_delta(model, delta: dict[str, torch.Tensor], factor: float) -> None:
    parameters = dict(model.named_parameters())
    for name, change in delta.items():
        parameters[name].add_(change.float(), alpha=factor)


def trained_model(run: str, form: str, base: Path, out: Path):
    """A trained model, from what train() kept of it."""
    if form == "full":
        return load_model(base, out / f"{run}.delta.safetensors")
    from peft import PeftModel

    return PeftModel.from_pretrained(load_model(base), out / run).merge_and_unload()


def encode(tokenizer, texts: list[Text]):
    """A batch of texts, each begun with the first-token mark so that all of its bytes are predicted."""
    rows = [[tokenizer.bos_token_id] + tokenizer(text.prompt + text.answer)["input_ids"] for text in texts]
    rows = [row[:LONGEST] for row in rows]
    width = max(len(row) for row in rows)
    ids = torch.tensor([row + [tokenizer.pad_token_id] * (width - len(row)) for row in rows])
    mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows])
    return {"input_ids": ids, "attention_mask": mask, "labels": ids.masked_fill(mask == 0, -100)}


def add_adapter(model, layers: list[int] | None):
    from peft import LoraConfig, get_peft_model

    # By name: PEFT takes layers_to_transform with a list of modules only, not with "all-linear".
    linear = {
        name.split(".")[-1]
        for name, module in model.named_modules() if isinstance(module, torch.nn.Linear) and ".layers." in name
    }
    config = LoraConfig(
        r=RANK, lora_alpha=2 * RANK, lora_dropout=0.0, task_type="CAUSAL_LM", target_modules=sorted(linear),
        layers_to_transform=layers, layers_pattern="layers" if layers is not None else None,
    )
    return get_peft_model(model, config)


def train(run: str, form: str, seed: int, base: Path, tokenizer, partition: Partition, data: dict, out: Path) -> dict:
    """Trains `run` and writes out/RUN.delta.safetensors or the adapter out/RUN. `data`: batches by name."""
    torch.manual_seed(seed)
    sources, part = RUNS[run]
    model = load_model(base)
    if form == "lora":
        layers = None if part in (None, "own") else layers_of(partition, part)
        model = add_adapter(model, layers)
    before = {name: p.detach().clone() for name, p in model.named_parameters()} if form == "full" else {}
    parts = Parts(model, partition)
    if part not in (None, "own"):
        parts.train_only(part)
    steps = {source: len(data[source]) for source in sources}
    order = schedule_of_parts(steps)
    optimizer = torch.optim.AdamW(parts.groups(), lr=RATE[form], betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    schedule = get_linear_schedule_with_warmup(optimizer, max(1, len(order) // 10), len(order) + 1)
    left, losses = {source: iter(data[source]) for source in sources}, []
    model.train()
    for source in order:
        if part == "own":
            parts.train_only(PART_OF_DATA[source])
        loss = model(**encode(tokenizer, next(left[source]))).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_([p for p in model.parameters() if p.grad is not None], 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(round(loss.item(), 4))
    if form == "lora":
        model.save_pretrained(out / run)
    else:
        delta = {
            name: (p.detach() - before[name]).to(torch.bfloat16)
            for name, p in model.named_parameters() if not torch.equal(p, before[name])
        }
        check_delta(delta, partition, part)
        save_file(delta, out / f"{run}.delta.safetensors")
    return {"steps": len(order), "losses": losses}


def layers_of(partition: Partition, part: str) -> list[int]:
    """Numbers of the layers that a side trains, which a frozen LoRA run adapts."""
    names = [name.split(".") for name in partition.trained_by(part)]
    return sorted({int(words[words.index("layers") + 1]) for words in names if "layers" in words})


def check_delta(delta: dict, partition: Partition, part: str | None) -> None:
    """Refuses a frozen run that moved anything outside its part."""
    if part in (None, "own"):
        return
    trained = partition.trained_by(part)
    moved = [name for name in delta if name not in trained]
    if moved:
        raise RuntimeError(f"frozen parameters moved: {moved[:3]}")
