"""Faults of merged adapters. Each function writes a folder, and returns what the folder claims to be."""

import json
import os
import shutil

import torch
from peft import PeftModel
from safetensors.torch import load_file, save_file

from by_others import ATTENTION, MLP, adapter
from models import group, load, tensors, write

# Sizes of factors B, by seed: from changes far above the base's rounding to changes of a few of its units.
SIZES = [0.02, 0.004, 0.01, 0.001, 0.0005]
PLAIN = dict(r=8, lora_alpha=16, target_modules=ATTENTION + MLP)
SAVED = dict(r=4, lora_alpha=8, target_modules=ATTENTION, modules_to_save=["embed_tokens", "lm_head"])
BIASED = dict(r=4, lora_alpha=8, target_modules=ATTENTION, bias="lora_only")
EXPERTS = dict(r=3, lora_alpha=6, target_modules=["q_proj"], target_parameters=["experts.gate_up_proj", "experts.down_proj"])


def said(root, seed, family="llama", keys=PLAIN, name="plain"):
    """The base, the adapter, and the statement that the folder is their merge."""
    base = f"{group(root, family, 'bf16', seed)}/base"
    lora = adapter(base, f"{os.path.dirname(base)}/fault-{name}", keys, torch.bfloat16, seed, SIZES[seed - 1])
    return base, lora, f"{base}+{lora}"


def edited(lora, out, config=None, factors=None):
    """A copy of an adapter with an edited configuration or edited factors."""
    path = f"{out}.adapter"
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(lora, path)
    read = json.load(open(f"{path}/adapter_config.json"))
    with open(f"{path}/adapter_config.json", "w") as file:
        json.dump({**read, **(config or {})}, file)
    if factors is not None:
        stored = load_file(f"{path}/adapter_model.safetensors")
        made = {name: tensor.contiguous() for name, tensor in ((name, factors(name, tensor)) for name, tensor in stored.items()) if tensor is not None}
        save_file(made, f"{path}/adapter_model.safetensors", metadata={"format": "pt"})
    return path


def merge(base, lora, out, **saving):
    PeftModel.from_pretrained(load(base, torch.bfloat16), lora).merge_and_unload().save_pretrained(out, **saving)
    return out


def by(config=None, factors=None, then=None, **which):
    """A merge of an edited adapter, or of the right adapter; `then(merge, base)` edits the merge's tensors."""
    def make(root, seed, out):
        base, lora, statement = said(root, seed, **which)
        path = edited(lora, out, config, factors) if config or factors else lora
        merge(base, path, out)
        if path != lora:
            shutil.rmtree(path)
        if then is not None:
            write(then(tensors(out), tensors(base)), out, out)
        return statement
    return make


def not_applied(root, seed, out):
    base, _, statement = said(root, seed)
    shutil.copytree(base, out, dirs_exist_ok=True)
    return statement


def twice(root, seed, out):
    """Merged, saved, and the adapter loaded again on top, as after a resumed export."""
    base, lora, statement = said(root, seed)
    merge(merge(base, lora, f"{out}.first"), lora, out)
    shutil.rmtree(f"{out}.first")
    return statement


def other_base(root, seed, out):
    base, lora, statement = said(root, seed)
    merge(f"{os.path.dirname(base)}/a", lora, out)
    return statement


def other_adapter(root, seed, out):
    """Another run's adapter of the same configuration."""
    base, lora, statement = said(root, seed)
    other = adapter(base, f"{lora}-other", PLAIN, torch.bfloat16, seed + 50, SIZES[seed - 1])
    merge(base, other, out)
    return statement


def in_4_bits(root, seed, out):
    """The adapter merged into the base as bitsandbytes' NF4 holds it, 64 elements a block."""
    base, lora, statement = said(root, seed)
    model = load(base, torch.bfloat16)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("_proj.weight"):
                parameter.copy_(nf4(parameter))
    PeftModel.from_pretrained(model, lora).merge_and_unload().save_pretrained(out)
    return statement


LEVELS = torch.tensor([-1.0, -0.6961928, -0.5250731, -0.3949175, -0.2844414, -0.1847734, -0.0910500, 0.0,
                       0.0795803, 0.1609302, 0.2461123, 0.3379152, 0.4407098, 0.5626170, 0.7229568, 1.0])


def nf4(tensor):
    blocks = tensor.float().reshape(-1, 64)
    scale = blocks.abs().amax(1, keepdim=True).clamp_min(1e-12)
    nearest = (blocks / scale).unsqueeze(-1).sub(LEVELS).abs().argmin(-1)
    return (LEVELS[nearest] * scale).reshape(tensor.shape).to(tensor.dtype)


def int8(tensor):
    scale = tensor.float().abs().amax(1, keepdim=True) / 127
    return ((tensor.float() / scale).round() * scale).to(tensor.dtype)


def int8_by_range(tensor):
    least, most = tensor.float().aminmax(dim=1, keepdim=True)
    scale = (most - least) / 255
    zero = (-least / scale).round()
    return ((((tensor.float() / scale).round() + zero).clamp(0, 255) - zero) * scale).to(tensor.dtype)


def fp8(tensor):
    return tensor.to(torch.float8_e4m3fn).to(tensor.dtype)


def quantised(how):
    return by(then=lambda made, base: {name: how(tensor) if name.endswith("_proj.weight") else tensor for name, tensor in made.items()})


def from_base(*parts):
    return lambda made, base: {name: base[name] if any(part in name for part in parts) else tensor for name, tensor in made.items()}


def without(*parts):
    return lambda name, tensor: None if any(part in name for part in parts) else tensor


def fan_in_fan_out(root, seed, out):
    """The product is transposed in square matrices, as with the wrong `fan_in_fan_out`."""
    base, lora, statement = said(root, seed, keys=dict(r=8, lora_alpha=16, target_modules=["q_proj", "o_proj"]), name="square")
    factors, made = load_file(f"{lora}/adapter_model.safetensors"), tensors(base)
    for name in made:
        key = f"base_model.model.{name.removesuffix('.weight')}.lora_"
        if f"{key}A.weight" in factors:
            product = 2 * factors[f"{key}B.weight"].float() @ factors[f"{key}A.weight"].float()
            made[name] = (made[name].float() + product.T).to(made[name].dtype)
    write(made, base, out)
    return statement


def wrapper_names(made, base):
    """`save_pretrained` of a wrapped model's state dict, with PEFT's names."""
    return {f"base_model.model.{name}" if not name.endswith("_proj.weight") else f"base_model.model.{name.removesuffix('.weight')}.base_layer.weight": tensor
            for name, tensor in made.items()}


def packed(change):
    """Edits the packed experts of a mixture."""
    def make(root, seed, out):
        base, lora, statement = said(root, seed, "qwen3-moe", EXPERTS, "experts")
        merge(base, lora, out, save_original_format=False)
        made = tensors(out)
        write({name: change(name, tensor) for name, tensor in made.items()}, out, out)
        return statement
    return make


def reordered(name, tensor):
    """Experts in the order in which names sort as text or ranks were gathered."""
    return tensor[torch.tensor([2, 3, 0, 1])] if ".experts." in name and tensor.ndim == 3 else tensor


def halves_exchanged(name, tensor):
    return torch.cat(tensor.chunk(2, dim=1)[::-1], dim=1) if "gate_up_proj" in name else tensor


FAULTS = {
    "adapter-not-applied": not_applied,
    "adapter-applied-twice": twice,
    "alpha-ignored": by({"lora_alpha": 8}),
    "rslora-ignored": by({"use_rslora": False}, keys=dict(PLAIN, use_rslora=True), name="rslora"),
    "scale-other": by({"lora_alpha": 11}),
    "adapter-subtracted": by({"lora_alpha": -16}),
    "rank-cut": by({"r": 4, "lora_alpha": 8}, lambda name, tensor: tensor[:4] if "lora_A" in name else tensor[:, :4] if "lora_B" in name else tensor),
    "adapter-other": other_adapter,
    "mlp-not-merged": by(factors=without(".mlp."), config={"target_modules": ATTENTION}),
    "layers-not-merged": by(then=from_base("layers.2.", "layers.3.")),
    "base-other": other_base,
    "base-in-4-bits": in_4_bits,
    "merge-in-8-bits": quantised(int8),
    "merge-in-8-bits-by-range": quantised(int8_by_range),
    "merge-in-fp8": quantised(fp8),
    "embeddings-not-merged": by(then=from_base("embed_tokens"), keys=SAVED, name="saved"),
    "head-not-merged": by(then=from_base("lm_head"), keys=SAVED, name="saved"),
    "product-transposed": fan_in_fan_out,
    "biases-not-merged": by(then=from_base(".bias"), family="qwen2", keys=BIASED, name="biased"),
    "magnitudes-ignored": by({"use_dora": False}, without("magnitude"), keys=dict(PLAIN, use_dora=True), name="dora"),
    "names-of-the-wrapper": by(then=wrapper_names),
    "experts-reordered": packed(reordered),
    "expert-halves-exchanged": packed(halves_exchanged),
    "experts-not-merged": by({"target_parameters": None}, without(".experts."), family="qwen3-moe", keys=EXPERTS, name="experts"),
}
