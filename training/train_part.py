"""Trains one part of a model's parameters with TRL, and freezes the others (freeze-then-train).

    python train_part.py --config config.yaml

The configuration is that of `trl sft` with two more keys: `partition`, a partition.json of `layerloom
partition`, and `side`, the side to train.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path

from trl import DatasetMixtureConfig, ModelConfig, ScriptArguments, SFTConfig, SFTTrainer, TrlParser, get_dataset


@dataclass
class PartArguments:
    partition: str = field(metadata={"help": "partition.json of layerloom partition"})
    side: str = field(metadata={"help": "language or task", "choices": ["language", "task"]})


def trained_names(arguments):
    """Names of the parameters that train, and of all."""
    parts = json.loads(Path(arguments.partition).read_text("utf8"))["parts"]
    return {*parts[arguments.side], *parts["both"]}, {name for names in parts.values() for name in names}


def freeze(model, arguments):
    """Freezes the parameters of the other side. A parameter in no part ends the program."""
    trained, known = trained_names(arguments)
    unknown = [name for name, _ in model.named_parameters() if name not in known]
    if unknown:
        raise SystemExit(f"{arguments.partition} has no {unknown[0]}: it is of another model; partition this one")
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name in trained)
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise SystemExit(f"{arguments.partition} gives {arguments.side} no parameter: nothing would train")


def main():
    parser = TrlParser((PartArguments, ScriptArguments, SFTConfig, ModelConfig, DatasetMixtureConfig))
    part, script, training, model, mixture = parser.parse_args_and_config()
    training.model_init_kwargs = {"dtype": model.dtype, "revision": model.model_revision}
    trainer = SFTTrainer(
        model=model.model_name_or_path,
        args=training,
        train_dataset=get_dataset(mixture)[script.dataset_train_split],
    )
    # Called before train(), which makes the optimiser from parameters that require gradients.
    freeze(trainer.model, part)
    trainer.train(resume_from_checkpoint=training.resume_from_checkpoint)
    trainer.save_model(training.output_dir)


if __name__ == "__main__":
    main()
