"""Dense models, recipes of mergekit-moe, and its mixtures beside layerloom's.

    make DIR          makes models and recipes, and mergekit-moe's mixtures in DIR/theirs.
    gates DIR         makes the routers of each recipe with prompts, by layerloom_gates.
    compare DIR       prints a line of JSON for each recipe: DIR/ours against DIR/theirs.
    logits DIR        prints a line for each mixture with a model in transformers: its results.
"""

import json
import sys
from pathlib import Path

import torch
import yaml
from safetensors import safe_open
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    AutoModelForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

FAMILIES = {
    "llama": (LlamaConfig, LlamaForCausalLM, {}),
    "mistral": (MistralConfig, MistralForCausalLM, {}),
    "qwen2": (Qwen2Config, Qwen2ForCausalLM, {}),
    "qwen3": (Qwen3Config, Qwen3ForCausalLM, {"head_dim": 16}),
}
WORDS = "hello who are you i need help with as a doctor of medicine das ist ein satz auf deutsch get ye flask".split()
PROMPTS = [
    {"positive_prompts": ["hello who are you", "i need help with"]},
    {"positive_prompts": ["as a doctor of medicine"], "negative_prompts": ["get ye flask"]},
    {"positive_prompts": ["das ist ein satz auf deutsch", "ein doctor", "you"]},
]


def dense(directory: Path, family: str, seed: int) -> None:
    config, model, more = FAMILIES[family]
    torch.manual_seed(seed)
    sizes = {"vocab_size": 64, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 3}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 128}
    made = model(config(**sizes, **heads, **more, bos_token_id=1, eos_token_id=2))
    # Replaces the initial 0 and 1 of biases and norms.
    for parameter in made.parameters():
        parameter.data.add_(torch.randn_like(parameter) * 0.05)
    made.to(torch.bfloat16).save_pretrained(directory)
    vocabulary = {word: index for index, word in enumerate(["<unk>", "<s>", "</s>", *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="<unk>", bos_token="<s>", eos_token="</s>"
    ).save_pretrained(directory)


def recipes(root: Path) -> dict[str, dict]:
    """mergekit-moe's examples by each mode and layout."""
    made: dict[str, dict] = {}
    for family in FAMILIES:
        model = {number: str(root / "models" / f"{family}-{number}") for number in range(3)}
        experts = [{"source_model": model[number], **PROMPTS[number]} for number in range(3)]
        plain = {"base_model": model[0], "dtype": "bfloat16", "experts": experts}
        # mergekit 0.1.5 finds a shared expert only if it is also the base or an expert.
        shared = {"source_model": model[1], "residual_scale": 0.1}
        gated = {**shared, "positive_prompts": ["hello doctor"]}
        for mode in ("hidden", "hidden_avg", "hidden_last", "cheap_embed"):
            if family != "qwen2":
                made[f"{family}-{mode}"] = {**plain, "gate_mode": mode}
            if family != "qwen3":
                made[f"{family}-qwen-{mode}"] = {
                    **{**plain, "gate_mode": mode, "architecture": "qwen"},
                    "shared_experts": [gated],
                }
            if family in ("llama", "mistral"):
                made[f"{family}-deepseek-{mode}"] = {
                    **{**plain, "gate_mode": mode, "architecture": "DeepSeek", "experts_per_token": 1},
                    "shared_experts": [shared],
                }
    llama = made["llama-hidden"]
    scaled = [{**expert, "residual_scale": scale} for expert, scale in zip(llama["experts"], (1, 0.3, 0.7))]
    made["llama-scaled"] = {**llama, "experts": scaled}
    made["llama-float32"] = {**llama, "dtype": "float32"}
    made["llama-no-dtype"] = {key: value for key, value in llama.items() if key != "dtype"}
    # Random routers come from different generators; all else is compared.
    for family, architecture in (("llama", "mixtral"), ("llama", "deepseek"), ("qwen2", "qwen"), ("qwen3", None)):
        for mode in ("random", "uniform_random"):
            one = made[f"{family}-qwen-hidden"] if architecture == "qwen" else made[f"{family}-hidden"]
            recipe = {**one, "gate_mode": mode}
            made[f"{family}-{architecture}-{mode}"] = (
                recipe if architecture is None else {**recipe, "architecture": architecture}
            )
    # Experts that are one model, which computes the same as the mixture; mergekit-moe needs --i-understand-…
    # for it.
    for family, architecture in (("llama", "mixtral"), ("qwen3", None)):
        base = made[f"{family}-hidden"]["base_model"]
        same = [{"source_model": base, **prompts} for prompts in PROMPTS]
        recipe = {**made[f"{family}-hidden"], "experts": same}
        made[f"{family}-identical"] = recipe if architecture is None else {**recipe, "architecture": architecture}
    return made


def make(root: Path) -> None:
    from mergekit.moe.config import MoEMergeConfig
    from mergekit.options import MergeOptions
    from mergekit.scripts.moe import build

    for number, family in enumerate(FAMILIES):
        for seed in range(3):
            dense(root / "models" / f"{family}-{seed}", family, 10 * number + seed)
    (root / "recipes").mkdir()
    for name, recipe in recipes(root).items():
        (root / "recipes" / f"{name}.yml").write_text(yaml.safe_dump(recipe, sort_keys=False))
        config = MoEMergeConfig.model_validate(recipe)
        build(config, str(root / "theirs" / name), MergeOptions(), device="cpu", allow_all_same=True)
        print(name)


def gates(root: Path) -> None:
    from layerloom_gates.__main__ import main

    for recipe in sorted((root / "recipes").iterdir()):
        if yaml.safe_load(recipe.read_text())["gate_mode"] in ("random", "uniform_random"):
            continue
        file = root / f"{recipe.stem}.safetensors"
        main([str(recipe), "-o", str(file), "--device", "cpu"])
        recipe.write_text(f"{recipe.read_text()}gates: {file}\n")


def tensors_in(directory: Path) -> dict[str, torch.Tensor]:
    found = {}
    for file in directory.glob("*.safetensors"):
        with safe_open(file, "pt") as tensors:
            found.update({name: tensors.get_tensor(name) for name in tensors.keys()})
    return found


def same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    return torch.equal(one.contiguous().view(torch.uint8), other.contiguous().view(torch.uint8))


def compare(root: Path) -> None:
    for recipe in sorted((root / "recipes").iterdir()):
        name = recipe.stem
        theirs, ours = tensors_in(root / "theirs" / name), tensors_in(root / "ours" / name)
        configs = [json.loads((root / side / name / "config.json").read_text()) for side in ("theirs", "ours")]
        both = theirs.keys() & ours.keys()
        differing = sorted(key for key in both if not same_bits(theirs[key], ours[key]))
        of = {key: [config.get(key, "absent") for config in configs] for key in configs[0].keys() | configs[1].keys()}
        different = {key: values for key, values in of.items() if values[0] != values[1]}
        line = {"name": name, "tensors": len(theirs), "names": sorted(theirs.keys() ^ ours.keys())}
        print(json.dumps({**line, "differing": differing, "config": different}))


def logits(root: Path) -> None:
    tokens = torch.tensor([[1, 3, 4, 5, 6, 7, 8], [1, 12, 13, 14, 15, 16, 17]])

    def of(directory: Path) -> torch.Tensor:
        model = AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32).eval()
        with torch.no_grad():
            return model(tokens).logits

    for recipe in sorted((root / "recipes").iterdir()):
        name = recipe.stem
        config = json.loads((root / "ours" / name / "config.json").read_text())
        # transformers has no model of DeepSeek's first family: its code is on the hub.
        if config["model_type"] == "deepseek":
            continue
        made = of(root / "ours" / name)
        line = {"name": name, "finite": bool(torch.isfinite(made).all())}
        if name.endswith("-identical"):
            base = of(Path(yaml.safe_load(recipe.read_text())["base_model"]))
            line["off"] = float((made - base).abs().max() / base.abs().max())
        print(json.dumps(line))


if __name__ == "__main__":
    {"make": make, "gates": gates, "compare": compare, "logits": logits}[sys.argv[1]](Path(sys.argv[2]))
