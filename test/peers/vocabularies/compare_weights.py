"""Merges by mergekit and compares with outputs of layerloom: compare_weights.py LINES < orders.json >
results.json

An order has `recipe`, `ours` (layerloom's output) and `out` (a directory for mergekit's). Tensors are
compared in bfloat16, embeddings and heads token by token; texts of the file LINES by their tokens in
transformers.
"""

import json
import logging
import sys
from pathlib import Path

import torch
import transformers
import yaml
from mergekit.config import MergeConfiguration
from mergekit.merge import run_merge
from mergekit.options import MergeOptions
from safetensors.torch import load_file

logging.disable(logging.CRITICAL)
transformers.logging.set_verbosity_error()

# mergekit adds tokens of vocabularies in the order of a hash map, which varies between processes and decides
# how a text is cut into tokens.
backend = transformers.PreTrainedTokenizerFast
unordered = backend.get_vocab
backend.get_vocab = lambda self: dict(sorted(unordered(self).items(), key=lambda item: item[1]))

lines = Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()


def load(directory):
    found = {}
    for file in sorted(Path(directory).glob("*.safetensors")):
        found.update(load_file(file))
    return found


def units(a, b):
    """Distances in the order of bfloat16's numbers, with a single zero."""
    bits = [x.to(torch.bfloat16).view(torch.int16).to(torch.int32) & 0xFFFF for x in (a, b)]
    signed = [torch.where(x >= 0x8000, -(x - 0x8000), x) for x in bits]
    return (signed[0] - signed[1]).abs()


def by_token(tensor, ids):
    """Rows in the order of tokens, since mergekit's order for a union varies between runs, then the others."""
    taken = set(ids)
    return tensor[ids + [row for row in range(len(tensor)) if row not in taken]]


def compare(order):
    recipe = MergeConfiguration.model_validate(yaml.safe_load(Path(order["recipe"]).read_text()))
    run_merge(recipe, order["out"], MergeOptions(quiet=True, copy_tokenizer=True))
    theirs, ours = load(order["out"]), load(order["ours"])
    tokenizers = [transformers.AutoTokenizer.from_pretrained(order[key]) for key in ("out", "ours")]
    vocabularies = [tokenizer.get_vocab() for tokenizer in tokenizers]
    result = {
        "tokens": sorted(set(vocabularies[0]) ^ set(vocabularies[1]))[:5],
        "shapes": sorted(
            name
            for name in {*theirs, *ours}
            if name not in theirs or name not in ours or theirs[name].shape != ours[name].shape
        ),
        "vocab_size": [
            json.loads((Path(order[key]) / "config.json").read_text())["vocab_size"] for key in ("out", "ours")
        ],
        "texts": len(lines),
        "differing": [
            text for text in lines if tokenizers[0].tokenize(text) != tokenizers[1].tokenize(text)
        ][:3],
    }
    if result["tokens"] or result["shapes"]:
        return result
    tokens = sorted(vocabularies[0])
    distances = {}
    for name in sorted(theirs):
        pair = [theirs[name], ours[name]]
        if "embed_tokens" in name or "lm_head" in name:
            pair = [
                by_token(tensor, [ids[token] for token in tokens])
                for tensor, ids in zip(pair, vocabularies)
            ]
        distances[name] = units(*pair)
    joined = torch.cat([distance.flatten() for distance in distances.values()])
    return {
        **result,
        "elements": joined.numel(),
        "apart": int((joined > 0).sum()),
        "further": int((joined > 1).sum()),
        "largest": int(joined.max()),
        "rows": len(ours["model.embed_tokens.weight"]),
        "where": sorted(name for name, distance in distances.items() if (distance > 1).any()),
    }


def result(order):
    try:
        return compare(order)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"[:300]}


json.dump([result(order) for order in json.load(sys.stdin)], sys.stdout)
