"""Faults of merges of several models, and of files."""

import json
import math
import os
import shutil

import torch

from by_mergekit import merged, models, recipe
from by_others import layer_of, say, swapped
from models import group, tensors, write


def instead(right, wrong, family="llama"):
    """The folder claims one mergekit recipe, but was made by another recipe."""
    def make(root, seed, out):
        against = claim(root, seed, out, right, family)
        merged(root, family, wrong, seed=None, group_seed=seed)(out)
        for name in ("mergekit_config.yml", "README.md"):
            os.remove(f"{out}/{name}")
        return against
    return make


def claim(root, seed, out, said, family="llama"):
    from by_mergekit import with_paths
    return say(out, **with_paths(said, group(root, family, "bf16", seed)))


LINEAR = recipe("linear", models("a", "b", weight=0.5))
TIES = recipe("ties", models("a", "b", weight=0.5, density=0.5), "base", parameters={"normalize": True})
ARITHMETIC = recipe("task_arithmetic", models("a", "b", weight=(0.6, 0.3)), "base")
THREE = recipe("linear", models("a", "b", "c", weight=1))
SLERP = recipe("slerp", models("a", "b"), "a", parameters={"t": 0.3})


def then(edit, said=LINEAR, family="llama", config=None):
    """A right merge whose tensors are edited: the function gets them, its inputs' folder and the seed."""
    def make(root, seed, out):
        against = instead(said, said, family)(root, seed, out)
        at = group(root, family, "bf16", seed)
        made = edit(tensors(out), at, seed)
        write(made, out, out)
        if config is not None:
            read = json.load(open(f"{out}/config.json"))
            with open(f"{out}/config.json", "w") as file:
                json.dump({**read, **config}, file)
        return against
    return make


def moved(layers):
    """`layers[i]` stands where layer i belongs; None: it is missing."""
    def edit(made, *_):
        result = {name: tensor for name, tensor in made.items() if layer_of(name) is None}
        for to, of in enumerate(layers):
            for name, tensor in made.items():
                if of is not None and layer_of(name) == of:
                    result[name.replace(f"layers.{of}.", f"layers.{to}.")] = tensor.clone()
        return result
    return edit


def replaced(part, compute):
    return lambda made, at, seed: {name: compute(tensor, seed) if part in name else tensor for name, tensor in made.items()}


def of_model(name, *parts):
    def edit(made, at, _seed):
        other = tensors(f"{at}/{name}")
        return {key: other[key] if any(part in key for part in parts) else tensor for key, tensor in made.items()}
    return edit


def flip(tensor, seed):
    """Flips the highest bit of one mantissa, as a faulty disk or memory does."""
    bits = tensor.clone().view(torch.int16).flatten()
    at = torch.randint(bits.numel(), (1,), generator=torch.Generator().manual_seed(seed))
    bits[at] ^= 64
    return bits.view(tensor.dtype).reshape(tensor.shape)


def rotated(tensor, _seed):
    """Puts the rows of each head in the other order of rotary halves, as in Llama's original format."""
    heads = tensor.shape[0] // 8
    return tensor.view(heads, 2, 4, -1).transpose(1, 2).reshape(tensor.shape)


def exchanged(tensor, _seed):
    """Keys and values of a fused projection exchanged (queries: 32 rows, keys and values 16 each)."""
    query, key, value = tensor.split([32, 16, 16])
    return torch.cat([query, value, key])


def not_a_number(tensor, _seed):
    made = tensor.clone()
    made[0, 0] = math.nan
    return made


def zone(root, seed, out):
    """A layer swap with one bottom layer more than stated."""
    at = group(root, "llama", "bf16", seed)
    of = {name: tensors(f"{at}/{name}") for name in "ab"}
    made = {name: of["b"][name] if layer_of(name) == 1 else swapped(name, None, of["a"][name], of["b"][name], None) for name in of["a"]}
    write(made, f"{at}/a", out)
    return say(out, method="layer_swap", task=f"{at}/a", language=f"{at}/b", bottom=1, top=1, bottom_transition=0, top_transition=0)


def ties_without_base(root, seed, out):
    """TIES of the weights themselves, as if the base were 0."""
    at, against = group(root, "llama", "bf16", seed), claim(root, seed, out, TIES)
    of, made = {name: tensors(f"{at}/{name}") for name in "ab"}, {}
    for name in of["a"]:
        pair = torch.stack([trim(of[one][name].float()) * 0.5 for one in "ab"])
        agree = (pair.sign() == pair.sum(0).sign()) & (pair != 0)
        made[name] = ((pair * agree).sum(0) / (agree.sum(0) * 0.5).clamp_min(0.5)).to(torch.bfloat16)
    write(made, f"{at}/a", out)
    return against


def trim(tensor, density=0.5):
    keep = max(1, int(tensor.numel() * density))
    return torch.where(tensor.abs() >= tensor.abs().flatten().topk(keep).values[-1], tensor, 0)


def rounded_between(root, seed, out):
    """Float32 experts merged in bfloat16, and stored as float32 again."""
    at = group(root, "llama", "fp32", seed)
    of = {name: tensors(f"{at}/{name}") for name in "ab"}
    write({name: ((of["a"][name] + of["b"][name]) / 2).bfloat16().float() for name in of["a"]}, f"{at}/a", out)
    return say(out, method="soup", models=[f"{at}/a", f"{at}/b"])


def stale_head(root, seed, out):
    """The models tie heads to embeddings; the merge has a head of its own, which was not merged."""
    head = lambda made, at, _: {**made, "lm_head.weight": tensors(f"{at}/a")["model.embed_tokens.weight"].clone()}
    return then(head, family="llama-tied", config={"tie_word_embeddings": False})(root, seed, out)


def experts_reordered(made, *_):
    """Packed experts in the order in which ranks were gathered."""
    order = torch.tensor([2, 3, 0, 1])
    return {name: tensor[order] if ".experts." in name else tensor for name, tensor in made.items()}


def shard_lost(root, seed, out):
    """The third of four shards was not uploaded; the index still lists it."""
    against = instead(LINEAR, LINEAR)(root, seed, out)
    from models import load
    load(out, torch.bfloat16).save_pretrained(f"{out}.s", max_shard_size="25KB")
    shutil.rmtree(out)
    shutil.move(f"{out}.s", out)
    os.remove(sorted(f"{out}/{name}" for name in os.listdir(out) if name.endswith(".safetensors"))[2])
    return against


def near_experts(root, seed, out):
    """0.52 and 0.48 instead of the mean of two experts that barely changed."""
    at = group(root, "llama", "bf16", seed)
    base, draw = tensors(f"{at}/a"), torch.Generator().manual_seed(seed)
    of = {}
    for name in ("near-a", "near-b"):
        of[name] = {key: (tensor.float() * (1 + 0.004 * torch.randn(tensor.shape, generator=draw))).bfloat16() for key, tensor in base.items()}
        write(of[name], f"{at}/a", f"{out}-{name}")
    near_a, near_b = of.values()
    write({key: (0.52 * near_a[key].float() + 0.48 * near_b[key].float()).bfloat16() for key in base}, f"{at}/a", out)
    return say(out, method="soup", models=[f"{out}-{name}" for name in of])


FAULTS = {
    "weights-of-near-experts": near_experts,
    "weights-other": instead(LINEAR, recipe("linear", models("a", "b", weight=(0.7, 0.3)))),
    "weights-exchanged": instead(recipe("linear", models("a", "b", weight=(0.8, 0.2))), recipe("linear", models("a", "b", weight=(0.2, 0.8)))),
    "model-left-out": instead(THREE, recipe("linear", models("a", "b", weight=1))),
    "weights-not-normalised": instead(recipe("linear", models("a", "b", weight=(0.6, 0.6))),
                                      recipe("linear", models("a", "b", weight=(0.6, 0.6)), parameters={"normalize": False})),
    "expert-other": instead(LINEAR, recipe("linear", models("a", "c", weight=0.5))),
    "ties-without-base": ties_without_base,
    "ties-untrimmed": instead(TIES, recipe("ties", models("a", "b", weight=0.5, density=1.0), "base", parameters={"normalize": True})),
    "ties-density-other": instead(TIES, recipe("ties", models("a", "b", weight=0.5, density=0.2), "base", parameters={"normalize": True})),
    "ties-is-linear": instead(TIES, LINEAR),
    "lambda-other": instead(ARITHMETIC, {**ARITHMETIC, "parameters": {"lambda": 0.5}}),
    "arithmetic-base-other": instead(ARITHMETIC, {**ARITHMETIC, "base_model": "c"}),
    "slerp-reversed": instead(SLERP, {**SLERP, "parameters": {"t": 0.7}}),
    "one-expert-alone": instead(LINEAR, recipe("linear", models("a", weight=1))),
    "head-untied-and-stale": stale_head,
    "experts-of-a-mean-reordered": then(experts_reordered, family="mixtral"),
    "layers-exchanged": then(moved([0, 2, 1, 3])),
    "layers-shifted": then(moved([1, 2, 3, 3])),
    "layer-missing": then(moved([0, 1, 2]), config={"num_hidden_layers": 3}),
    "layer-twice": then(moved([0, 1, 1, 2, 3]), config={"num_hidden_layers": 5}),
    "zone-other": zone,
    "norms-of-an-expert": then(of_model("a", "norm")),
    "head-of-an-expert": then(of_model("a", "lm_head")),
    "embeddings-of-an-expert": then(of_model("b", "embed_tokens")),
    "bit-flipped": then(replaced("layers.2.mlp.up_proj", flip)),
    "tensor-zero": then(replaced("layers.1.self_attn.v_proj", lambda tensor, _: torch.zeros_like(tensor))),
    "not-a-number": then(replaced("layers.3.mlp.down_proj", not_a_number)),
    "vocabulary-padded": then(lambda made, *_: {name: torch.cat([tensor, torch.zeros(32, tensor.shape[1], dtype=tensor.dtype)])
                              if tensor.shape[0] == 96 else tensor for name, tensor in made.items()}, config={"vocab_size": 128}),
    "rotary-order-other": then(lambda made, at, seed: {name: rotated(tensor, seed) if "q_proj" in name or "k_proj" in name else tensor
                               for name, tensor in made.items()}),
    "keys-and-values-exchanged": then(replaced("qkv_proj", exchanged), family="phi3"),
    "rounded-between": rounded_between,
    "shard-lost": shard_lost,
}
