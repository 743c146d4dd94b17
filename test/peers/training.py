"""Asks trainers about configurations that `layerloom train init` wrote. Prints JSON.

    training.py base DIR                     a small random model with a tokenizer, in bfloat16
    training.py trl|axolotl|llama-factory RUN...    each run's parsed config.yaml
    training.py schedule RUN STEP...         learning rates of TRL's schedule at steps, over the peak
    training.py moved BASE TRAINED           names of the parameters that training changed, or of LoRA's modules
"""

import json
import os
import sys
from pathlib import Path

os.environ.update(OMP_NUM_THREADS="1", HF_HUB_OFFLINE="1", DISABLE_VERSION_CHECK="1", CUDA_VISIBLE_DEVICES="")


def base(directory):
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    words = ["<s>", "</s>", "<unk>", *(f"w{index}" for index in range(61))]
    tokenizer = Tokenizer(models.WordLevel({word: index for index, word in enumerate(words)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    named = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **named).save_pretrained(directory)
    torch.manual_seed(0)
    shape = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4}
    config = LlamaConfig(vocab_size=64, num_key_value_heads=2, bos_token_id=0, eos_token_id=1, **shape)
    LlamaForCausalLM(config).to(torch.bfloat16).save_pretrained(directory)
    return {}


def trl_arguments(run):
    from trl import DatasetMixtureConfig, ModelConfig, ScriptArguments, SFTConfig, TrlParser

    sys.path.insert(0, str(run))
    classes = [ScriptArguments, SFTConfig, ModelConfig, DatasetMixtureConfig]
    if (run / "train_part.py").exists():
        from train_part import PartArguments

        classes.insert(0, PartArguments)
    if (run / "train_simultaneous.py").exists():
        from train_simultaneous import DataArguments

        classes = [DataArguments, SFTConfig, ModelConfig]
    arguments = ["--config", str(run / "config.yaml"), "--use_cpu"]
    # `trl sft` does not set fail_with_unknown_args: it would ignore a misspelt key.
    parsed = TrlParser(classes).parse_args_and_config(arguments, fail_with_unknown_args=True)
    return {type(each).__name__: each for each in parsed}


def trl(run):
    training = trl_arguments(run)["SFTConfig"]
    return {
        "rate": training.learning_rate,
        "schedule": training.lr_scheduler_type,
        "arguments": training.lr_scheduler_kwargs,
        "beta2": training.adam_beta2,
        "steps": training.max_steps,
        "warmup": training.warmup_steps,
    }


def axolotl(run):
    import yaml
    from axolotl.utils.schemas.config import AxolotlInputConfig

    values = yaml.safe_load((run / "config.yaml").read_text())
    unknown = sorted(set(values) - set(AxolotlInputConfig.model_fields))
    if unknown:
        raise SystemExit(f"axolotl has no {unknown}")
    config = AxolotlInputConfig(**values)
    return {
        "rate": float(config.learning_rate),
        "schedule": config.lr_scheduler,
        "arguments": config.lr_scheduler_kwargs,
        "beta2": config.adam_beta2,
        "steps": config.max_steps,
        "warmup": config.warmup_steps,
    }


def llama_factory(run):
    from llamafactory.hparams import get_train_args

    import yaml

    values = yaml.safe_load((run / "config.yaml").read_text())
    _, _, training, _, _ = get_train_args({**values, "use_cpu": True, "output_dir": str(run / "out")})
    return {
        "rate": training.learning_rate,
        "schedule": training.lr_scheduler_type,
        "arguments": training.lr_scheduler_kwargs,
        "beta2": training.adam_beta2,
        "steps": training.max_steps,
        "warmup": training.warmup_steps,
    }


def schedule(run, steps):
    import torch
    from transformers import get_scheduler

    training = trl_arguments(run)["SFTConfig"]
    optimizer = torch.optim.AdamW([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    kwargs = training.lr_scheduler_kwargs or {}
    made = get_scheduler(training.lr_scheduler_type, optimizer, training.warmup_steps, training.max_steps, kwargs)
    return [made.lr_lambdas[0](step) for step in steps]


def moved(before, after):
    from safetensors.torch import load_file

    if (after / "adapter_model.safetensors").exists():
        adapter = load_file(after / "adapter_model.safetensors")
        ends = {name: value for name, value in adapter.items() if name.endswith(".lora_B.weight")}
        modules = [name.removesuffix(".lora_B.weight") for name, value in ends.items() if value.abs().max() > 0]
        return {
            "names": sorted(name.removeprefix("base_model.model.") + ".weight" for name in modules),
            "dtype": str(next(iter(adapter.values())).dtype),
        }
    old, new = load_file(before / "model.safetensors"), load_file(after / "model.safetensors")
    changed = [name for name in old if not old[name].float().equal(new[name].float())]
    return {"names": sorted(changed), "dtype": str(new["lm_head.weight"].dtype)}


def main():
    what, *rest = sys.argv[1:]
    parsers = {"trl": trl, "axolotl": axolotl, "llama-factory": llama_factory}
    if what in parsers:
        answer = {run: parsers[what](Path(run)) for run in rest}
    elif what == "schedule":
        answer = schedule(Path(rest[0]), [int(step) for step in rest[1:]])
    else:
        answer = {"base": base, "moved": moved}[what](*(Path(path) for path in rest))
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
