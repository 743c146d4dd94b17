"""Makes the routers of a mixture of experts from the prompts of its recipe.

    python -m layerloom_gates RECIPE -o gates.safetensors

The recipe is mergekit-moe's, or one of method `mixture`. For each layer and expert, a router's row is the base model's
vector for the positive prompts minus its vector for the negative prompts, normalised to length 1:

- `hidden`, `hidden_last`: the hidden state before the layer at the last token, in bfloat16, averaged over the
  prompts
- `hidden_avg`: the mean of the hidden states of all tokens
- `cheap_embed`: the sum of the embeddings of the tokens, the same for every layer

The arithmetic and its order follow mergekit-moe (0.1.5), for the same bits on the same machine.
"""

import argparse
import sys
from pathlib import Path

import torch
import yaml
from safetensors import safe_open
from safetensors.torch import save_file
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

HIDDEN = ("hidden", "hidden_avg", "hidden_last")
MODES = (*HIDDEN, "cheap_embed")
TINY = 1e-8
# With a larger condition number, a router matrix hardly distinguishes some experts.
MOST_CONDITION = 5.0


class RecipeError(Exception):
    """A recipe or a model that cannot give routers."""


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m layerloom_gates", description="Makes the routers of a mixture of experts from prompts."
    )
    parser.add_argument("recipe", type=Path, help="a recipe of mergekit-moe, or of method mixture")
    parser.add_argument("-o", "--out", type=Path, required=True, help="the file of the routers (.safetensors)")
    parser.add_argument("--device", default="auto", help="where the base model computes: auto, cpu, cuda (default auto)")
    given = parser.parse_args(arguments)
    try:
        tensors, metadata = make_gates(read_recipe(given.recipe), device=given.device)
        if given.out.suffix != ".safetensors":
            raise RecipeError(f"{given.out}: the file must end in .safetensors")
    except RecipeError as error:
        sys.exit(f"error: {error}")
    save_file(tensors, given.out, metadata)
    print(f"{given.out}: {len(tensors)} routers; name it in the recipe as `gates: {given.out}`")


def read_recipe(path: Path) -> dict:
    """Returns a recipe by mergekit-moe's keys. Paths are relative to the working directory, or for method
    `mixture` to the recipe's folder."""
    try:
        recipe = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise RecipeError(f"{path}: {error}") from error
    if not isinstance(recipe, dict):
        raise RecipeError(f"{path}: no recipe: a mapping with base_model and experts is expected")
    if recipe.get("method") == "mixture":
        return of_method(recipe, path.parent)
    for key in ("base_model", "experts"):
        if not recipe.get(key):
            raise RecipeError(f"{path}: {key} is missing")
    return recipe


def of_method(recipe: dict, folder: Path) -> dict:
    def prompts_of(entry: object) -> dict:
        return entry if isinstance(entry, dict) else {}

    base = recipe.get("base")
    if not isinstance(base, str) or not isinstance(recipe.get("models"), list):
        raise RecipeError("base and models must be named")
    there = folder / base
    return {
        "base_model": str(there) if there.exists() else base,
        "gate_mode": recipe.get("gate_mode", "hidden"),
        "experts": [prompts_of(entry) for entry in recipe["models"]],
        "shared_experts": [prompts_of(entry) for entry in recipe.get("shared_experts") or []],
    }


def make_gates(recipe: dict, device: str = "auto") -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    """Returns the routers by their names in a mixture, and the metadata of their file."""
    mode = recipe.get("gate_mode", "hidden")
    if mode not in MODES:
        raise RecipeError(f"gate_mode {mode} needs no file: one of {', '.join(MODES)} is made of prompts")
    base, revision = model_of(recipe["base_model"])
    routed, shared = prompts_in(recipe["experts"], required=True), prompts_in(recipe.get("shared_experts") or [])
    if any(shared) and not all(shared):
        raise RecipeError("shared_experts: all of them have positive_prompts, or none")
    prompts = [*routed, *(shared if any(shared) else [])]
    tokenizer = AutoTokenizer.from_pretrained(base, revision=revision)
    tokenizer.padding_side = "left"
    tokenizer.pad_token_id = tokenizer.bos_token_id
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    if tokenizer.pad_token_id is None:
        raise RecipeError(f"{base}: its tokenizer has neither a first nor a last token (bos, eos) to pad prompts with")
    vector_of = embedding(base, revision) if mode == "cheap_embed" else hidden_state(base, revision, mode, device)

    def vector(texts: list[str]) -> torch.Tensor:
        with_start = [(tokenizer.bos_token or "") + text for text in texts]
        return vector_of(tokenizer(with_start, return_tensors="pt", padding=True, add_special_tokens=False))

    vectors = []
    for positive, negative in prompts:
        direction = vector(positive)
        if negative:
            direction = direction - vector(negative)
        vectors.append(direction / direction.norm(p=2, dim=-1, keepdim=True).clamp(min=TINY))
    # shape: layer, expert, hidden
    gates = torch.stack(vectors).permute(1, 0, 2).cpu()
    if not torch.isfinite(gates).all():
        raise RecipeError(f"{base}: its hidden states of the prompts are not finite")
    warn_of_likeness(gates)
    tensors = {}
    for layer, rows in enumerate(gates):
        tensors[f"model.layers.{layer}.mlp.gate.weight"] = rows[: len(routed)].contiguous()
        if len(rows) > len(routed):
            tensors[f"model.layers.{layer}.mlp.shared_expert_gate.weight"] = rows[len(routed) :].contiguous()
    return tensors, {"format": "pt", "gate_mode": mode}


def model_of(reference: object) -> tuple[str, str | None]:
    """Returns path and revision of a model as mergekit writes it: `path@revision`, or mappings of these."""
    if isinstance(reference, dict):
        inner = reference.get("model", reference)
        if isinstance(inner, dict):
            return str(inner.get("path")), inner.get("revision")
        reference = inner
    if not isinstance(reference, str) or "+" in reference:
        raise RecipeError(f"base_model: {reference!r} is no directory and no model of the hub; write it first, with its adapter")
    path, _, revision = reference.partition("@")
    return path, revision or None


def prompts_in(experts: object, required: bool = False) -> list[tuple[list[str], list[str]]]:
    found = []
    for index, expert in enumerate(experts if isinstance(experts, list) else []):
        positive, negative = (
            [str(text) for text in (expert.get(key) or [])] for key in ("positive_prompts", "negative_prompts")
        )
        if required and not positive:
            raise RecipeError(f"experts.{index}: positive_prompts are missing")
        found.append((positive, negative) if positive else ())
    return found


def hidden_state(base: str, revision: str | None, mode: str, device: str):
    model = AutoModelForCausalLM.from_pretrained(base, revision=revision, dtype=torch.bfloat16, device_map=device)

    def vector_of(tokens) -> torch.Tensor:
        with torch.no_grad():
            states = model(**tokens.to(model.device), output_hidden_states=True, return_dict=True).hidden_states
        # The input of each layer; shape: layer, prompt, token, hidden.
        inputs = torch.stack(states[:-1])
        of_prompts = inputs.sum(dim=2) / inputs.shape[2] if mode == "hidden_avg" else inputs[:, :, -1, :]
        return of_prompts.sum(dim=1) / of_prompts.shape[1]

    return vector_of


def embedding(base: str, revision: str | None):
    layers = AutoConfig.from_pretrained(base, revision=revision).num_hidden_layers
    rows = stored_embeddings(base, revision).float()

    def vector_of(tokens) -> torch.Tensor:
        each = rows[tokens["input_ids"]] * tokens["attention_mask"].unsqueeze(-1)
        total = each.sum(dim=1).sum(dim=0, keepdim=True)
        return (total / total.norm(dim=-1, keepdim=True).clamp(min=TINY)).repeat(layers, 1)

    return vector_of


def stored_embeddings(base: str, revision: str | None) -> torch.Tensor:
    """Returns the embeddings as stored in the files, the only weights that `cheap_embed` needs."""
    name = "model.embed_tokens.weight"
    folder = Path(base)
    if not folder.is_dir():
        from huggingface_hub import snapshot_download

        folder = Path(snapshot_download(base, revision=revision, allow_patterns=["*.safetensors", "*.json"]))
    for file in sorted(folder.glob("*.safetensors")):
        with safe_open(file, "pt") as tensors:
            if name in tensors.keys():
                return tensors.get_tensor(name)
    raise RecipeError(f"{base}: no .safetensors file has {name}")


def warn_of_likeness(gates: torch.Tensor) -> None:
    alike = [layer for layer, rows in enumerate(gates) if torch.linalg.cond(rows.float()) > MOST_CONDITION]
    if alike:
        print(
            f"warning: the prompts of some experts are too alike in {len(alike)} of {len(gates)} layers (the first is {alike[0]}): "
            "routers will hardly choose some of them",
            file=sys.stderr,
        )


if __name__ == "__main__":
    main()
