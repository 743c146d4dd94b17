#!/usr/bin/env python3
"""Runs collected recipes in mergekit, and compares its merges with layerloom's. Prints JSON by name.

mergekit_corpus.py merge WORK NAME=RECIPE.yaml...    makes WORK/NAME for each recipe: small random models,
                                                     mergekit's merge in `peer`;
                                                     and `mergekit.json` if it accepts the recipe.
mergekit_corpus.py compare WORK NAME...              compares WORK/NAME/peer with WORK/NAME/ours.

With --own-tokens before the command, all models except bases have two more tokens than their base.

mergekit runs each recipe twice: unchanged, to see whether it accepts it, and in float32, to compare
(docs/parity.md). Models named ORG/NAME are in the working directory, WORK/NAME.
"""
import contextlib
import hashlib
import json
import logging
import os
import re
import shutil
import sys
import warnings
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
warnings.filterwarnings("ignore")

import numpy as np
import torch
import yaml
from mergekit.common import ModelReference
from mergekit.config import MergeConfiguration
from mergekit.io.tasks import LoaderCache
from mergekit.merge import run_merge
from mergekit.options import MergeOptions
from mergekit.scripts.multimerge import load_config
from safetensors import safe_open
from safetensors.torch import save_file
from tokenizers import Tokenizer, models, pre_tokenizers

torch.set_num_threads(1)
logging.disable(logging.CRITICAL)

WIDTH, HEADS, KEYS, INNER, WORDS = 32, 4, 2, 64, 64
LAYERS_WITHOUT_RANGES = 6

CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": WIDTH, "intermediate_size": INNER,
    "num_attention_heads": HEADS, "num_key_value_heads": KEYS, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
    "max_position_embeddings": 256, "tie_word_embeddings": False, "torch_dtype": "float32", "hidden_act": "silu",
    "bos_token_id": 0, "eos_token_id": 1,
}


def references(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in ("model", "base_model") and isinstance(inner, str):
                yield inner
            else:
                yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


def ranges(value):
    if isinstance(value, dict):
        if "layer_range" in value:
            yield value["layer_range"][1]
        for inner in value.values():
            yield from ranges(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from ranges(inner)


def random(name, tensor, shape):
    """Values near every other model's values, as if all were fine-tuned from one base."""
    def normal(text, scale):
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
        return np.random.default_rng(seed).normal(0, scale, shape)
    around = 1 if tensor.endswith("norm.weight") else 0
    return torch.tensor(around + normal(tensor, 0.05) + normal(f"{name} {tensor}", 0.01), dtype=torch.float32)


def shapes(layers, words):
    head = WIDTH // HEADS
    inside = {
        "input_layernorm": (WIDTH,), "post_attention_layernorm": (WIDTH,), "self_attn.q_proj": (WIDTH, WIDTH),
        "self_attn.k_proj": (KEYS * head, WIDTH), "self_attn.v_proj": (KEYS * head, WIDTH),
        "self_attn.o_proj": (WIDTH, WIDTH), "mlp.gate_proj": (INNER, WIDTH), "mlp.up_proj": (INNER, WIDTH),
        "mlp.down_proj": (WIDTH, INNER),
    }
    yield "model.embed_tokens.weight", (words, WIDTH)
    for layer in range(layers):
        for name, shape in inside.items():
            yield f"model.layers.{layer}.{name}.weight", shape
    yield "model.norm.weight", (WIDTH,)
    yield "lm_head.weight", (words, WIDTH)


def write_model(directory, name, layers, more=()):
    directory.mkdir(parents=True, exist_ok=True)
    count = WORDS + len(more)
    tensors = {tensor: random(name, tensor, shape) for tensor, shape in shapes(layers, count)}
    save_file(tensors, directory / "model.safetensors", metadata={"format": "pt"})
    config = {**CONFIG, "num_hidden_layers": layers, "vocab_size": count}
    (directory / "config.json").write_text(json.dumps(config))
    words = {"<s>": 0, "</s>": 1, "<unk>": 2, **{f"word{index}": index for index in range(3, WORDS)}}
    tokenizer = Tokenizer(models.WordLevel(words, "<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.add_special_tokens(["<s>", "</s>", "<unk>", *more])
    tokenizer.save(str(directory / "tokenizer.json"))
    special = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    (directory / "tokenizer_config.json").write_text(json.dumps({
        **special, "tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 256,
        "chat_template": "{% for m in messages %}{{ m.content }}{% endfor %}"}))


def write_adapter(directory, base, layers):
    directory.mkdir(parents=True, exist_ok=True)
    rank = 2
    (directory / "adapter_config.json").write_text(json.dumps({
        "peft_type": "LORA", "task_type": "CAUSAL_LM", "base_model_name_or_path": base, "r": rank, "lora_alpha": 4,
        "target_modules": ["q_proj"], "lora_dropout": 0.0, "bias": "none", "inference_mode": True}))
    tensors = {}
    for layer in range(layers):
        at = f"base_model.model.model.layers.{layer}.self_attn.q_proj"
        tensors[f"{at}.lora_A.weight"] = random(str(directory), f"{at}.A", (rank, WIDTH))
        tensors[f"{at}.lora_B.weight"] = random(str(directory), f"{at}.B", (WIDTH, rank))
    save_file(tensors, directory / "adapter_model.safetensors")


def bases(documents):
    return {document["base_model"] for document in documents if "base_model" in document}


def write_models(root, documents, own_tokens):
    stages = {document["name"] for document in documents if isinstance(document, dict) and "name" in document}
    layers = max(ranges(documents), default=LAYERS_WITHOUT_RANGES)
    for text in set(references(documents)) - stages:
        reference = ModelReference.parse(text)
        path = reference.model.path
        own = f"<own-{hashlib.sha256(path.encode()).hexdigest()[:6]}>"
        write_model(root / path, path, layers, ["<pad>", own] if own_tokens and text not in bases(documents) else [])
        if reference.lora is not None:
            write_adapter(root / reference.lora.path, path, layers)


def in_float32(document):
    whole = {**document, "dtype": "float32"}
    written = document.get("out_dtype") or document.get("dtype")
    return {**whole, "out_dtype": written} if written else whole


def merge(text, out, change=lambda document: document):
    """The merge of a file with one document, or with several documents as in mergekit-multi."""
    documents = [change(document) for document in yaml.safe_load_all(text)]
    options = MergeOptions(write_model_card=False, quiet=True, random_seed=0, lora_merge_cache="lora-cache")
    if len(documents) == 1:
        run_merge(MergeConfiguration.model_validate(documents[0]), out, options=options)
        return
    stages = f"{out}-stages"
    configurations, dependencies = load_config(yaml.safe_dump_all(documents), stages)
    done = set()
    last = None if None in configurations else list(yaml.safe_load_all(text))[-1]["name"]

    def make(name):
        for needed in dependencies[name] - done:
            make(needed)
        done.add(name)
        run_merge(configurations[name], out if name == last else f"{stages}/{name}", options=options)

    make(last)


def attempt(text, out, **options):
    # Cached by path: the previous recipe may have used the same names in another directory.
    LoaderCache().loaders.clear()
    try:
        with open(os.devnull, "w") as silent, contextlib.redirect_stdout(silent), contextlib.redirect_stderr(silent):
            merge(text, out, **options)
    except (Exception, SystemExit) as error:
        shutil.rmtree(out, ignore_errors=True)
        return re.sub(r"\s+", " ", f"{type(error).__name__}: {error}")[:300]
    return None


def merge_one(root, text, own_tokens):
    root.mkdir(parents=True)
    (root / "recipe.yaml").write_text(text)
    try:
        documents = list(yaml.safe_load_all(text))
    except yaml.YAMLError as error:
        return {"refused": f"not YAML: {' '.join(str(error).split())}"[:300], "methods": []}
    write_models(root, documents, own_tokens)
    os.chdir(root)
    refused = attempt(text, "as-it-is") or attempt(text, "peer", change=in_float32)
    return {"refused": refused, "methods": [document.get("merge_method") for document in documents]}


def merge_all(work, recipes, own_tokens):
    results = {}
    for name, file in (pair.split("=", 1) for pair in recipes):
        root, text = work / name, Path(file).read_text()
        known = root / "mergekit.json"
        if not known.exists() or (root / "recipe.yaml").read_text() != text:
            shutil.rmtree(root, ignore_errors=True)
            known.write_text(json.dumps(merge_one(root, text, own_tokens)))
        results[name] = json.loads(known.read_text())
        print(name, results[name]["refused"] or "taken", file=sys.stderr, flush=True)
    return results


class Checkpoint:
    def __init__(self, directory):
        self.files = {}
        for path in sorted(directory.glob("*.safetensors")):
            file = safe_open(path, "pt")
            self.files.update(dict.fromkeys(file.keys(), file))

    def get(self, name):
        return self.files[name].get_tensor(name)

    def shape(self, name):
        return self.files[name].get_slice(name).get_shape() if name in self.files else None


def steps(tensor):
    """16-bit numbers as consecutive integers, −0 and +0 both 0; rounds float32 to bfloat16."""
    short = tensor if tensor.dtype in (torch.bfloat16, torch.float16) else tensor.to(torch.bfloat16)
    bits = short.contiguous().view(torch.int16).numpy().astype(np.int32)
    return np.where(bits < 0, -(bits & 0x7FFF), bits)


def config_of(directory):
    config = json.loads((directory / "config.json").read_text())
    return {key: config.get(key) for key in ("num_hidden_layers", "vocab_size")}


def base_of(root):
    """The last merge's base, from which `theirs` and `ours` are squared distances."""
    last = list(yaml.safe_load_all((root / "recipe.yaml").read_text()))[-1]
    found = root / str(last.get("base_model"))
    return Checkpoint(found) if "base_model" in last and found.is_dir() else None


def vocabulary(directory):
    return Tokenizer.from_file(str(directory / "tokenizer.json")).get_vocab(with_added_tokens=True)


def compare(root):
    theirs, ours = Checkpoint(root / "peer"), Checkpoint(root / "ours")
    names = sorted(theirs.files)
    if names != sorted(ours.files):
        return {"structure": f"tensors: {sorted(set(names) ^ set(ours.files))[:3]}"}
    if config_of(root / "peer") != config_of(root / "ours"):
        return {"structure": f"config.json: {config_of(root / 'ours')}, not {config_of(root / 'peer')}"}
    tokens, own = vocabulary(root / "peer"), vocabulary(root / "ours")
    if tokens.keys() != own.keys():
        return {"structure": f"tokenizer.json: {sorted(tokens.keys() ^ own.keys())[:3]}"}
    # In a union, added tokens are in the order of a Python set of models, which varies between runs.
    order = [own[token] for token in sorted(tokens, key=tokens.get)] if tokens != own else None
    as_it_is = Checkpoint(root / "as-it-is")
    start = base_of(root)
    result = {"reordered": tokens != own, "elements": 0, "differing": 0, "beyond": 0, "theirs": 0.0, "ours": 0.0}
    for name in names:
        x, y, written = theirs.get(name), ours.get(name), as_it_is.get(name).dtype
        if x.shape != y.shape:
            return {"structure": f"{name}: {list(y.shape)}, not {list(x.shape)}"}
        if order and name in ("model.embed_tokens.weight", "lm_head.weight"):
            y = y[order]
        if written != y.dtype:
            result["dtype"] = f"{y.dtype}, not {written}".replace("torch.", "")
        distance = np.abs(steps(x) - steps(y))
        result["elements"] += distance.size
        result["differing"] += int((distance > 0).sum())
        result["beyond"] += int((distance > 1).sum())
        origin = start.get(name).float() if start and start.shape(name) == list(x.shape) else 0
        result["theirs"] += float(((x.float() - origin) ** 2).sum())
        result["ours"] += float(((y.float() - origin) ** 2).sum())
    return result


if __name__ == "__main__":
    own_tokens = sys.argv[1] == "--own-tokens"
    command, work, *names = sys.argv[2 if own_tokens else 1:]
    work = Path(work).resolve()
    names = [name if command == "compare" else f"{name.split('=', 1)[0]}={Path(name.split('=', 1)[1]).resolve()}" for name in names]
    if command == "merge":
        print(json.dumps(merge_all(work, names, own_tokens)))
    else:
        print(json.dumps({name: compare(work / name) for name in names}))
