"""Trains a language and a task in one run: batches of each kind of data update only its own part of the
parameters.

    python train_simultaneous.py --config config.yaml
    torchrun --nproc_per_node 4 train_simultaneous.py --config config.yaml

Each of several processes trains on its own device. Full fine-tuning then shards the weights, their gradients
and the state of AdamW over the devices (FSDP 2); LoRA keeps the whole base on each and sums the adapter's
gradients (DDP). A step's batch is the configuration's batch per device times the devices, and all its rows
are of one kind of data.

The configuration is that of `trl sft` with three more keys: `partition`, a partition.json of `layerloom
partition`, and `math_data` and `language_data`, files of prompts and completions.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path

from layerloom_train import SimultaneousMixin, load_sharded, read_partition
from transformers import AutoTokenizer, DataCollatorForSeq2Seq, Trainer, set_seed
from trl import ModelConfig, SFTConfig, TrlParser, get_peft_config


@dataclass
class DataArguments:
    partition: str = field(metadata={"help": "partition.json of layerloom partition"})
    math_data: str = field(metadata={"help": "JSON lines of prompts and completions: they train the task's part"})
    language_data: str = field(metadata={"help": "the same, for the language's part"})


class SimultaneousTrainer(SimultaneousMixin, Trainer):
    pass


def tokenized(path, tokenizer, max_length):
    """Rows of token ids with labels; no loss on the prompt (ours)."""
    rows = []
    for line in Path(path).read_text("utf8").splitlines():
        row = json.loads(line)
        prompt = tokenizer(row["prompt"])["input_ids"]
        completion = tokenizer(row["completion"], add_special_tokens=False)["input_ids"] + [tokenizer.eos_token_id]
        if len(prompt) < max_length:
            rows.append(
                {
                    "input_ids": (prompt + completion)[:max_length],
                    "labels": ([-100] * len(prompt) + completion)[:max_length],
                }
            )
    return rows


def main():
    data, training, model_config = TrlParser((DataArguments, SFTConfig, ModelConfig)).parse_args_and_config()
    name = model_config.model_name_or_path
    tokenizer = AutoTokenizer.from_pretrained(name)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    processes = 1 if model_config.use_peft else training.world_size
    model = load_sharded(name, processes, dtype=model_config.dtype)
    if model_config.use_peft:
        from peft import get_peft_model

        set_seed(training.seed)  # the same adapter on every device, and in every run of this seed
        model = get_peft_model(model, get_peft_config(model_config))
        model.enable_input_require_grads()
    trainer = SimultaneousTrainer(
        model=model,
        args=training,
        data_collator=DataCollatorForSeq2Seq(tokenizer),
        processing_class=tokenizer,
        partition=read_partition(data.partition),
        part_datasets={
            "task": tokenized(data.math_data, tokenizer, training.max_length),
            "language": tokenized(data.language_data, tokenizer, training.max_length),
        },
    )
    trainer.train(resume_from_checkpoint=training.resume_from_checkpoint)
    trainer.save_model(training.output_dir)


if __name__ == "__main__":
    main()
