"""Compares vocabularies of layerloom with those of mergekit.

    compare.py LINES < orders.json > results.json

LINES: a file of texts. An order has `models` (name, path, rows, in order), `base` (an index or null),
`source`, `tokens` and `pad` as in mergekit, but with models as indices; `ours`, a directory with the
tokenizer files of layerloom's output; and `vocabulary`, its rows.
"""

import functools
import json
import logging
import sys
import tempfile
from types import SimpleNamespace

import mergekit.tokenizer.build
import torch
import tqdm
import transformers
from mergekit.common import ModelReference
from mergekit.tokenizer.build import build_tokenizer
from mergekit.tokenizer.config import TokenEmbeddingConfig
from mergekit.tokenizer.embed import PermutedVocabulary

logging.disable(logging.CRITICAL)
mergekit.tokenizer.build.tqdm.tqdm = functools.partial(tqdm.tqdm, disable=True)
transformers.logging.set_verbosity_error()

# mergekit adds tokens of vocabularies in the order of a hash map, which varies between processes.
backend = transformers.PreTrainedTokenizerFast
unordered = backend.get_vocab
backend.get_vocab = lambda self: dict(sorted(unordered(self).items(), key=lambda item: item[1]))

lines = open(sys.argv[1], encoding="utf-8").read().splitlines()


def settings(tokenizer):
    return {
        token.content: [token.lstrip, token.rstrip, token.single_word, token.normalized, token.special]
        for token in tokenizer.added_tokens_decoder.values()
    }


def first_difference(a, b):
    for key in [*a, *b]:
        if a.get(key) != b.get(key):
            return f"{key!r}: {a.get(key)} against {b.get(key)}"
    return None


def run_ours(vocabulary, tensors):
    results = []
    for index, model in enumerate(vocabulary["models"]):
        rows = torch.zeros(vocabulary["rows"], tensors[0].shape[1])
        for to, begin, count in model["own"]:
            rows[to : to + count] = tensors[index][begin : begin + count]
        for fill in model["fills"]:
            total = torch.zeros_like(rows)
            for part in fill["from"]:
                for to, begin, count in part["runs"]:
                    total[to : to + count] += tensors[part["model"]][begin : begin + count]
            for first, count in fill["rows"]:
                rows[first : first + count] = total[first : first + count] / len(fill["from"])
        pad = vocabulary["padFrom"]
        rows[pad:] = rows[:pad].mean(dim=0)
        results.append(rows)
    return results


def compare(order):
    references = [ModelReference.model_validate(model["path"]) for model in order["models"]]
    source = references[order["source"]] if isinstance(order["source"], int) else order["source"]
    base = None if order["base"] is None else references[order["base"]]

    def rule(given):
        place = given.get("source")
        if isinstance(place, int):
            place = references[place]
        elif isinstance(place, dict) and "model" in place:
            place = {**place, "model": references[place["model"]]}
        return TokenEmbeddingConfig(source=place, force=given.get("force", False))

    tokens = {token: rule(given) for token, given in order["tokens"].items()}
    info = build_tokenizer(base, references, source, False, list(tokens))
    torch.manual_seed(0)
    tensors = [torch.randn(model["rows"], 4) for model in order["models"]]
    task = SimpleNamespace(
        tokens=tokens,
        pad_to_multiple_of=order["pad"],
        base_model=base,
        vocabulary_axis=0,
    )
    for name in ("assign_embedding_sources", "compute_default_embedding"):
        setattr(task, name, getattr(PermutedVocabulary, name).__get__(task))
    theirs = PermutedVocabulary.execute(task, info, dict(zip(references, tensors)))
    with tempfile.TemporaryDirectory() as directory:
        info.tokenizer.save_pretrained(directory)
        tokenizer = transformers.AutoTokenizer.from_pretrained(directory)
    ours = transformers.AutoTokenizer.from_pretrained(order["ours"])
    rows = run_ours(order["vocabulary"], tensors)
    texts = [*lines, *(f"a{token} b {token}c" for token in settings(tokenizer))]
    differing = [
        text for text in texts if tokenizer(text)["input_ids"] != ours(text)["input_ids"]
    ]
    skipped = [
        text
        for text in texts
        if tokenizer.decode(tokenizer(text)["input_ids"], skip_special_tokens=True)
        != ours.decode(ours(text)["input_ids"], skip_special_tokens=True)
    ]
    return {
        "vocabulary": first_difference(tokenizer.get_vocab(), ours.get_vocab()),
        "settings": first_difference(settings(tokenizer), settings(ours)),
        "special": first_difference(tokenizer.special_tokens_map, ours.special_tokens_map),
        "texts": len(texts),
        "differing": differing[:3],
        "skipped": skipped[:3],
        "rows": [len(theirs[references[0]]), order["vocabulary"]["rows"]],
        "embeddings": [
            float((theirs[reference] - own).abs().max()) if theirs[reference].shape == own.shape else None
            for reference, own in zip(references, rows)
        ],
    }


def result(order):
    try:
        return compare(order)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


json.dump([result(order) for order in json.load(sys.stdin)], sys.stdout)
