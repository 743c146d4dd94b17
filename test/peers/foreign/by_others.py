"""Merges by PEFT, transformers and plain torch."""

import importlib.util
import json
import os
import shutil

import torch
from peft import LoraConfig, PeftModel, get_peft_model

from models import DTYPES, group, load, tensors, write

ATTENTION, MLP = ["q_proj", "k_proj", "v_proj", "o_proj"], ["gate_proj", "up_proj", "down_proj"]
ADAPTERS = {
    "lora": dict(r=4, lora_alpha=8, target_modules=ATTENTION + MLP),
    "rslora": dict(r=16, lora_alpha=8, target_modules=ATTENTION, use_rslora=True),
    "patterns": dict(r=8, lora_alpha=16, target_modules=ATTENTION + MLP, rank_pattern={"layers.0.self_attn.q_proj": 2},
                     alpha_pattern={"k_proj": 3, "down_proj": 7}),
    "dora": dict(r=4, lora_alpha=8, target_modules=ATTENTION + MLP, use_dora=True),
    "vocabulary": dict(r=4, lora_alpha=8, target_modules=["embed_tokens", "lm_head", "q_proj"]),
    "saved": dict(r=6, lora_alpha=9, target_modules=["v_proj"], modules_to_save=["embed_tokens", "lm_head", "norm"]),
    "biases": dict(r=3, lora_alpha=16, target_modules=["q_proj", "v_proj", "down_proj"], bias="lora_only"),
    "fused": dict(r=4, lora_alpha=8, target_modules="all-linear"),
    "experts": dict(r=3, lora_alpha=5, target_modules=["q_proj"], target_parameters=["experts.gate_up_proj", "experts.down_proj"]),
}


def train(model, seed=0, size=0.02):
    """Random numbers instead of training, which leaves initial factors B at 0."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_magnitude_vector" in name:
                parameter.mul_(1 + torch.randn_like(parameter) * 0.05)
            elif "lora_" in name:
                parameter.copy_(torch.randn_like(parameter) * (size if "lora_B" in name or "_B" in name else 0.3))
            elif parameter.requires_grad:
                parameter.add_(torch.randn_like(parameter) * 0.01)


def adapter(base, path, keys, dtype, seed=0, size=0.02):
    """The path of an adapter of a base, made once."""
    if not os.path.exists(path):
        tuned = get_peft_model(load(base, dtype), LoraConfig(task_type="CAUSAL_LM", **keys))
        train(tuned, seed, size)
        tuned.save_pretrained(path)
    return path


def merged(root, family, kind, dtype="bf16", **saving):
    """Merges by `merge_and_unload` of the loaded adapter, as people publish such merges."""
    def make(out):
        at = group(root, family, dtype)
        base, lora = f"{at}/base", adapter(f"{at}/base", f"{at}/{kind}", ADAPTERS[kind], DTYPES[dtype], len(kind))
        PeftModel.from_pretrained(load(base, DTYPES[dtype]), lora).merge_and_unload().save_pretrained(out, **saving)
        return {"against": f"{base}+{lora}", "by": f"PEFT {kind}", "family": family}
    return make


def say(out, **recipe):
    """A recipe of layerloom beside the folder, as the author of a script would write it down."""
    path = f"{out}.recipe.yaml"
    with open(path, "w") as file:
        json.dump(recipe, file, indent=1)
    return path


def script(root, family, compute, dtype="bf16", to=None, **recipe):
    """A loop over state dicts. `compute` gets a tensor's name and its versions in base, a, b and c."""
    def make(out):
        at = group(root, family, dtype)
        all_of = {name: tensors(f"{at}/{name}") for name in ("base", "a", "b", "c")}
        made = {name: compute(name, *(all_of[one][name] for one in all_of)) for name in all_of["a"]}
        write({name: tensor.to(to) if to else tensor for name, tensor in made.items()}, f"{at}/a", out)
        places = {key: [f"{at}/{one}" for one in value] if isinstance(value, list) and key == "models"
                  else f"{at}/{value}" if key in ("base", "task", "language") else value for key, value in recipe.items()}
        return {"against": say(out, **places), "by": "torch script", "family": family}
    return make


def again(root, source, name, by, **saving):
    """Another merge, loaded and saved by transformers."""
    def make(out):
        statement = source(out)
        load(out, saving.pop("dtype", torch.bfloat16)).save_pretrained(f"{out}.again", **saving)
        if os.path.commonpath([out, statement["against"].split("+")[0]]) == out:
            kept = shutil.move(statement["against"], f"{out}.{os.path.basename(statement['against'])}")
            statement["against"] = kept
        shutil.rmtree(out)
        shutil.move(f"{out}.again", out)
        return {**statement, "by": f"{statement['by']}, then transformers {by}"}
    return make


def generations(root, family, original):
    """The mean of two multimodal models, with the tensor names of transformers 4 or 5, from models with the other
    version's names."""
    def make(out):
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "families", "models.py")
        spec = importlib.util.spec_from_file_location("families", path)
        families = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(families)
        made = [families.model_of(family, seed) for seed in (0, 1)]
        at = f"{root}/models/{family}-{original}"
        for name, one in zip("ab", made):
            one.save_pretrained(f"{at}/{name}", save_original_format=not original)
        with torch.no_grad():
            for one, other in zip(made[0].parameters(), made[1].parameters()):
                one.add_(other).mul_(0.5)
        made[0].save_pretrained(out, save_original_format=original)
        return {"against": say(out, method="soup", models=[f"{at}/a", f"{at}/b"]), "by": "torch script", "family": family}
    return make


def pickled(source):
    """A merge in PyTorch's own format."""
    def make(out):
        statement = source(out)
        torch.save(tensors(out), f"{out}/pytorch_model.bin")
        os.remove(f"{out}/model.safetensors")
        return {**statement, "by": f"{statement['by']} as pytorch_model.bin"}
    return make


def layer_of(name):
    parts = name.split(".")
    return int(parts[parts.index("layers") + 1]) if "layers" in parts else None


def swapped(name, _base, task, language, _c):
    layer = layer_of(name)
    return (task.float() + language.float()).mul(0.5).to(task.dtype) if layer is None else language if layer in (0, 3) else task


def merges(root):
    from by_mergekit import merged as by_mergekit, models, recipe
    mean = lambda name, base, a, b, c: ((a.float() + b.float()) / 2).to(a.dtype)
    in_place = lambda name, base, a, b, c: a * 0.5 + b * 0.5
    added = lambda name, base, a, b, c: base + 0.5 * (a - base) + 0.4 * (b - base)
    in_float = lambda name, base, a, b, c: (base.float() + 0.5 * (a.float() - base.float()) + 0.4 * (b.float() - base.float())).to(base.dtype)
    soup = dict(method="soup", models=["a", "b"])
    arithmetic = dict(method="task_arithmetic", base="base", models=["a", "b"], weights=[0.5, 0.4])
    lora = merged(root, "llama", "lora")
    ties = by_mergekit(root, "llama", recipe("ties", models("a", "b", weight=0.5, density=0.6), "base"))
    linear = by_mergekit(root, "llama", recipe("linear", models("a", "b", weight=0.5), out_dtype=None), "fp32")
    return {
        **{f"peft-{kind}": merged(root, "llama", kind) for kind in ("lora", "rslora", "patterns", "dora", "vocabulary", "saved")},
        "peft-lora-fp32": merged(root, "qwen3", "lora", "fp32"),
        "peft-lora-fp16-sharded": merged(root, "mistral", "lora", "fp16", max_shard_size="20KB"),
        "peft-biases": merged(root, "qwen2", "biases"),
        "peft-gemma2": merged(root, "gemma2", "rslora"),
        "peft-phi3": merged(root, "phi3", "fused"),
        "peft-experts": merged(root, "qwen3-moe", "experts"),
        "peft-experts-packed": merged(root, "qwen3-moe", "experts", "fp32", save_original_format=False),
        "script-mean": script(root, "llama", mean, **soup),
        "script-mean-in-bf16": script(root, "gemma3", in_place, **soup),
        "script-arithmetic": script(root, "qwen3", in_float, **arithmetic),
        "script-arithmetic-in-fp16": script(root, "mistral", added, "fp16", **arithmetic),
        "script-swap": script(root, "llama", swapped, method="layer_swap", task="a", language="b", bottom=1, top=1, bottom_transition=0, top_transition=0),
        "script-to-fp32": script(root, "qwen2", mean, to=torch.float32, **soup),
        "again-fp16": again(root, ties, "fp16", "in float16", dtype=torch.float16),
        "again-fp32": again(root, lora, "fp32", "in float32", dtype=torch.float32),
        "again-bf16": again(root, linear, "bf16", "in bfloat16", dtype=torch.bfloat16),
        "again-sharded": again(root, lora, "sharded", "in shards", max_shard_size="15KB"),
        "again-mixtral-packed": again(root, by_mergekit(root, "mixtral", recipe("linear", models("a", "b", weight=0.4))),
                                      "packed", "packed", save_original_format=False),
        "again-tied": again(root, by_mergekit(root, "llama-tied", recipe("linear", models("a", "b", weight=0.5))), "tied", "again"),
        "pickled": pickled(lora),
        "names-qwen2.5-vl-new": generations(root, "qwen2.5-vl", False),
        "names-qwen2.5-vl-old": generations(root, "qwen2.5-vl", True),
        "names-gemma3": generations(root, "gemma3-multimodal", False),
        "names-llava": generations(root, "llava", False),
    }
