#!/usr/bin/env python3
"""A run of transformers' Trainer, and averages of its checkpoints by NumPy.

run.py train|train-lora DIR          trains a small Llama, or an adapter of it; DIR/run has six checkpoints.
run.py check RUN JSON                compares every tensor of each `out` with the average of `steps` by a `schedule`;
                                     loads the first `out`.
run.py check-adapter RUN OUT STEPS   compares the changes of an adapter with the mean of those of checkpoints.
"""

import argparse
import json
import math
from pathlib import Path

import numpy as np
import torch
from safetensors import safe_open
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments


def train(root, lora):
    torch.manual_seed(34)
    config = LlamaConfig(
        vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2
    )
    model = LlamaForCausalLM(config).to(torch.bfloat16)
    model.save_pretrained(root / "base")
    if lora:
        from peft import LoraConfig, get_peft_model

        model = LlamaForCausalLM.from_pretrained(root / "base", dtype=torch.bfloat16)
        model = get_peft_model(model, LoraConfig(r=4, lora_alpha=8, target_modules="all-linear"))
    rows = [{"input_ids": ids, "labels": ids} for ids in torch.randint(0, 64, (64, 16)).tolist()]
    arguments = TrainingArguments(
        output_dir=str(root / "run"),
        per_device_train_batch_size=4,
        max_steps=110,
        save_steps=20,
        learning_rate=5e-3,
        lr_scheduler_type="constant",
        report_to=[],
        disable_tqdm=True,
        use_cpu=True,
        seed=34,
    )
    Trainer(model=model, args=arguments, train_dataset=rows).train()


def weights_of(schedule, count, parameter):
    """In float64, by the papers' formulas: a sum over updates for WSM, a recurrence for EMA."""
    if schedule == "uniform":
        return [1.0] * count
    if schedule == "ema":
        alpha = float(parameter)
        weights = np.zeros(count)
        weights[0] = 1
        for step in range(1, count):
            weights *= 1 - alpha
            weights[step] += alpha
        return list(weights)
    decay = {
        "linear": lambda x: 1 - x,
        "cosine": lambda x: (1 + math.cos(math.pi * x)) / 2,
        "1-sqrt": lambda x: 1 - math.sqrt(x),
    }[parameter]
    # Update i of m − 1 counts decay(i / m): θ₀ − Σ decay(i / m) (θᵢ₋₁ − θᵢ), solved for each θ.
    weights = np.zeros(count)
    weights[0] = 1
    for update in range(1, count):
        weights[update - 1] -= decay(update / count)
        weights[update] += decay(update / count)
    return list(weights)


def tensors_of(directory):
    found = {}
    for file in sorted(Path(directory).glob("*.safetensors")):
        with safe_open(file, "pt") as opened:
            found.update({name: opened.get_tensor(name) for name in opened.keys()})
    return found


def check(run, out, schedule, parameter, steps):
    checkpoints = [tensors_of(run / f"checkpoint-{step}") for step in steps]
    weights = np.array(weights_of(schedule, len(steps), parameter))
    terms = (weights / weights.sum()).astype(np.float32)
    merged = tensors_of(out)
    assert merged.keys() == checkpoints[0].keys(), merged.keys() ^ checkpoints[0].keys()
    for name, tensor in merged.items():
        total = None
        for weight, checkpoint in zip(terms, checkpoints):
            product = weight * checkpoint[name].float().numpy()
            total = product if total is None else total + product
        expected = torch.from_numpy(total).to(checkpoints[0][name].dtype)
        assert torch.equal(tensor.view(torch.uint8), expected.view(torch.uint8)), name
    return len(merged)


def check_adapter(run, out, steps):

    def changes(directory):
        config = json.loads((Path(directory) / "adapter_config.json").read_text())
        tensors = tensors_of(directory)
        made = {}
        for name in tensors:
            if name.endswith("lora_A.weight"):
                stem = name.removesuffix(".lora_A.weight")
                module = stem.removeprefix("base_model.model.")
                patterns = [config.get(key) or {} for key in ("rank_pattern", "alpha_pattern")]
                rank, alpha = patterns[0].get(module, config["r"]), patterns[1].get(module, config["lora_alpha"])
                b, a = tensors[f"{stem}.lora_B.weight"].double(), tensors[name].double()
                made[stem] = alpha / rank * (b @ a)
        return made

    merged = changes(out)
    each = [changes(run / f"checkpoint-{step}") for step in steps]
    assert merged.keys() == each[0].keys() and merged
    worst = max(
        ((merged[stem] - sum(one[stem] for one in each) / len(each)).norm() / merged[stem].norm()).item() for stem in merged
    )
    print(json.dumps({"modules": len(merged), "error": worst}))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["train", "train-lora", "check", "check-adapter"])
    parser.add_argument("arguments", nargs="+")
    given = parser.parse_args()
    if given.what.startswith("train"):
        train(Path(given.arguments[0]), given.what == "train-lora")
    elif given.what == "check":
        run, checks = given.arguments
        checks = json.loads(checks)
        LlamaForCausalLM.from_pretrained(checks[0]["out"])
        print(json.dumps([check(Path(run), **one) for one in checks]))
    else:
        run, out, steps = given.arguments
        check_adapter(Path(run), Path(out), [int(step) for step in steps.split(",")])


main()
