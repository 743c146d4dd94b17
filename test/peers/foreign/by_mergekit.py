"""Merges by mergekit 0.1.5, as people run it: recipes of its README and of published cards."""

import os

import torch
import yaml
from mergekit.config import MergeConfiguration
from mergekit.merge import run_merge
from mergekit.moe.config import MoEMergeConfig
from mergekit.options import MergeOptions

from models import add_tokenizer, group

GRADIENT = [{"filter": "self_attn", "value": [0, 0.5, 0.3, 0.7, 1]}, {"filter": "mlp", "value": [1, 0.5, 0.7, 0.3, 0]},
            {"value": 0.5}]
RANDOM = ("dare_linear", "dare_ties", "della", "della_linear")


def models(*names, **parameters):
    """Entries of models; a list gives each model its value."""
    of = lambda index: {key: value[index] if isinstance(value, tuple) else value for key, value in parameters.items()}
    return [{"model": name, **({"parameters": of(index)} if parameters else {})} for index, name in enumerate(names)]


def recipe(method, entries, base=None, dtype="float32", out_dtype="bfloat16", **more):
    return {"merge_method": method, "models": entries, **({"base_model": base} if base else {}),
            **({"dtype": dtype} if dtype else {}), **({"out_dtype": out_dtype} if out_dtype else {}), **more}


def with_paths(value, at):
    if isinstance(value, list):
        return [with_paths(item, at) for item in value]
    if not isinstance(value, dict):
        return value
    is_model = lambda key, name: key in ("model", "base_model") and isinstance(name, str)
    return {key: os.path.join(at, name) if is_model(key, name) else with_paths(name, at) for key, name in value.items()}


def merged(root, family, said, dtype="bf16", against="mergekit_config.yml", seed=None, group_seed=0, **options):
    """A function that runs mergekit. `against` is a file that mergekit writes beside the weights."""
    def make(out):
        at = group(root, family, dtype, group_seed)
        whole = with_paths(said, at)
        run_merge(MergeConfiguration.model_validate(whole), out,
                  options=MergeOptions(copy_tokenizer="tokenizer_source" in said, quiet=True, random_seed=seed, **options))
        return {"against": os.path.join(out, against), "by": f"mergekit {said['merge_method']}", "family": family,
                "random": said["merge_method"] in RANDOM}
    return make


def usual(dtype="float32", out_dtype="bfloat16"):
    """Every deterministic method that both programs have, over three experts of a base."""
    ab, abc = ("a", "b"), ("a", "b", "c")
    make = lambda method, *more, **keys: recipe(method, *more, dtype=dtype, out_dtype=out_dtype, **keys)
    return {
        "linear": make("linear", models(*abc, weight=(1, 2.5, 0.4))),
        "slerp": make("slerp", models(*ab), "a", parameters={"t": GRADIENT}),
        "nuslerp": make("nuslerp", models(*ab, weight=(0.7, 0.3))),
        "task-arithmetic": make("task_arithmetic", models(*abc, weight=(0.5, 0.3, 0.4)), "base", parameters={"lambda": 0.9}),
        "ties": make("ties", models(*abc, weight=(0.5, 0.3, 0.2), density=0.5), "base", parameters={"normalize": True}),
        "breadcrumbs": make("breadcrumbs", models(*ab, weight=0.5, density=0.9, gamma=0.01), "base"),
        "breadcrumbs-ties": make("breadcrumbs_ties", models(*ab, weight=0.5, density=0.8, gamma=0.02), "base"),
        "model-stock": make("model_stock", models(*abc), "base"),
        "multislerp": make("multislerp", models(*abc, weight=(0.2, 0.5, 0.3))),
        "karcher": make("karcher", models(*abc)),
        "nearswap": make("nearswap", models(*ab), "a", parameters={"t": 0.001}),
        "arcee-fusion": make("arcee_fusion", models(*ab), "a"),
        "sce": make("sce", models(*abc), "base", parameters={"select_topk": 0.5}),
        "ram": make("ram", models(*ab), "base", parameters={"epsilon": 1e-5}),
        "ramplus-tl": make("ramplus_tl", models(*ab), "base", parameters={"epsilon": 1e-5, "r": 0.1, "alpha": 0.2}),
    }


def stack(*ranges):
    return [{"sources": [{"model": name, "layer_range": list(layers)}]} for name, layers in ranges]


def mixture(root):
    def make(out):
        from mergekit.moe.mixtral import MixtralMoE
        at = group(root, "mistral", "bf16")
        said = {"base_model": f"{at}/a", "gate_mode": "random", "dtype": "bfloat16",
                "experts": [{"source_model": f"{at}/{name}", "positive_prompts": [name]} for name in "ab"]}
        MixtralMoE().write_model(out, MoEMergeConfig.model_validate(said), MergeOptions(copy_tokenizer=False, quiet=True),
                                 [torch.randn(4, 2, 32)[layer] for layer in range(4)])
        with open(f"{out}/mergekit_moe_config.yml", "w") as file:
            yaml.safe_dump(said, file)
        return {"against": f"{out}/mergekit_moe_config.yml", "by": "mergekit-moe", "family": "mistral", "random": True}
    return make


def united(root):
    def make(out):
        at = group(root, "llama", "fp16")
        for name, words in (("base", "one two three"), ("a", "one two three four"), ("b", "one five two three")):
            add_tokenizer(f"{at}/{name}", words.split())
        said = recipe("task_arithmetic", models("a", "b", weight=0.5), "base", out_dtype="float16", tokenizer_source="union")
        return merged(root, "llama", said, "fp16")(out)
    return make


def merges(root):
    made = {}
    # Arithmetic in float32, by the recipe file that mergekit writes.
    for name, said in usual().items():
        made[f"llama-{name}"] = merged(root, "llama", said)
    # `dtype: bfloat16`, as in most cards: mergekit computes task vectors in bfloat16. By the card.
    for name, said in usual("bfloat16", None).items():
        made[f"llama-{name}-bf16"] = merged(root, "llama", said, against="README.md")
    for method in RANDOM:
        more = {"epsilon": 0.1} if method.startswith("della") else {}
        entries = models("a", "b", weight=0.5, density=0.6, **more)
        made[f"llama-{method.replace('_', '-')}"] = merged(root, "llama", recipe(method, entries, "base"), seed=7)
    half = dict(dtype="float16", out_dtype=None)
    made.update({
        "qwen2-ties": merged(root, "qwen2", recipe("ties", models("a", "b", weight=0.5, density=0.6), "base"),
                             max_shard_size=20_000),
        "qwen3-slerp": merged(root, "qwen3", recipe("slerp", models("a", "b"), "a", parameters={"t": GRADIENT}, **half), "fp16",
                              against="README.md"),
        "gemma2-linear": merged(root, "gemma2", recipe("linear", models("a", "b", weight=(0.3, 0.7)), out_dtype=None), "fp32"),
        "gemma3-model-stock": merged(root, "gemma3", recipe("model_stock", models("a", "b", "c"), "base")),
        "mistral-stack": merged(root, "mistral", {"merge_method": "passthrough", "dtype": "bfloat16",
                                "slices": stack(("a", (0, 3)), ("b", (1, 4)))}, against="README.md"),
        "phi3-task-arithmetic": merged(root, "phi3", recipe("task_arithmetic", models("a", "b", weight=0.6), "base")),
        "mixtral-linear": merged(root, "mixtral", recipe("linear", models("a", "b", weight=0.5))),
        "llama-union": united(root),
        "mistral-mixture": mixture(root),
    })
    return made
