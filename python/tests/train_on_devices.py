"""A training that test_devices.py starts, in one process or by torchrun in several: records it in
OUT/seen.json.

    train_on_devices.py BASE PARTITION OUT full|lora ROWS_PER_STEP ACCUMULATE
"""

import json
import sys
from pathlib import Path

import torch
import torch.distributed as distributed
from conftest import uneven_rows
from torch.distributed.tensor import DTensor
from transformers import Trainer, TrainerCallback, TrainingArguments, set_seed

from layerloom_train import SimultaneousMixin, load_sharded, read_partition


class SimultaneousTrainer(SimultaneousMixin, Trainer):
    pass


def of_all(found: list) -> list:
    """The findings of every process, in one list."""
    if not distributed.is_initialized():
        return found
    gathered = [None] * distributed.get_world_size()
    distributed.all_gather_object(gathered, found)
    return sum(gathered, [])


def shards(model) -> dict[str, torch.Tensor]:
    """This process's share of each parameter."""
    held = {name: parameter.detach() for name, parameter in model.named_parameters()}
    return {name: (held[name].to_local() if isinstance(held[name], DTensor) else held[name]).clone() for name in held}


class Watch(TrainerCallback):
    """Records which parameters every optimizer step moved, in any process."""

    def on_train_begin(self, args, state, control, model, **_):
        self.steps, self.before = [], shards(model)

    def on_step_end(self, args, state, control, model, **_):
        now = shards(model)
        moved = [name for name in now if not torch.equal(now[name], self.before[name])]
        self.steps.append(sorted(set(of_all(moved))))
        self.before = now


def main():
    base, partition, out, method, rows, accumulate = sys.argv[1:]
    arguments = TrainingArguments(
        output_dir=out, use_cpu=True, report_to="none", disable_tqdm=True, logging_steps=1, optim="adamw_torch",
        save_strategy="steps", save_steps=3, save_only_model=True, learning_rate=1e-2, weight_decay=0.1, max_grad_norm=0.5,
        num_train_epochs=1, gradient_accumulation_steps=int(accumulate),
    )
    processes = arguments.world_size
    arguments.per_device_train_batch_size = int(rows) // processes // int(accumulate)
    model = load_sharded(base, 1 if method == "lora" else processes, dtype=torch.float32)
    if method == "lora":
        from peft import LoraConfig, get_peft_model

        set_seed(1)
        model = get_peft_model(model, LoraConfig(r=2, target_modules="all-linear"))
    watch = Watch()
    trainer = SimultaneousTrainer(
        model=model, args=arguments, partition=read_partition(partition), callbacks=[watch],
        part_datasets={"language": uneven_rows(12, 1), "task": uneven_rows(12, 2)},
    )
    trainer.train()
    sharded = of_all([isinstance(parameter, DTensor) for parameter in model.parameters()])
    if arguments.process_index == 0:
        logged = [entry for entry in trainer.state.log_history if "loss" in entry]
        seen = {
            "processes": processes,
            "sharded": all(sharded),
            "moved": watch.steps,
            "losses": [entry["loss"] for entry in logged],
            "norms": [entry["grad_norm"] for entry in logged],
        }
        Path(out, "seen.json").write_text(json.dumps(seen))


if __name__ == "__main__":
    main()
