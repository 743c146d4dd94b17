"""Demonstrates the statements of docs/parity.md about mergekit's vocabularies by running it. Prints JSON."""

import json
import logging
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import torch
import transformers
from mergekit.common import ModelReference
from mergekit.tokenizer.build import build_tokenizer
from mergekit.tokenizer.config import TokenEmbeddingConfig
from mergekit.tokenizer.embed import PermutedVocabulary

logging.disable(logging.CRITICAL)
transformers.logging.set_verbosity_error()
directory = tempfile.TemporaryDirectory()
root = Path(directory.name)


def added(id, content):
    settings = {name: False for name in ("single_word", "lstrip", "rstrip", "normalized")}
    return {"id": id, "content": content, **settings, "special": True}


def model(name, vocab, rows, tokens=(), merges=(), unigram=False):
    place = root / name
    place.mkdir()
    inner = (
        {"type": "Unigram", "unk_id": 0, "vocab": [[token, -1.0] for token in vocab]}
        if unigram
        else {"type": "BPE", "vocab": vocab, "merges": list(merges)}
    )
    tokenizer = {"version": "1.0", "added_tokens": list(tokens), "model": inner}
    for key in ("truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder"):
        tokenizer[key] = None
    (place / "tokenizer.json").write_text(json.dumps(tokenizer))
    (place / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"})
    )
    (place / "config.json").write_text(
        json.dumps({"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": rows})
    )
    return ModelReference.model_validate(str(place)), rows


def merge(models, source, tokens=None, base=None):
    references = [reference for reference, _ in models]
    rules = {token: TokenEmbeddingConfig(**rule) for token, rule in (tokens or {}).items()}
    try:
        info = build_tokenizer(base, references, source, False, list(rules))
        task = SimpleNamespace(tokens=rules, pad_to_multiple_of=None, base_model=base, vocabulary_axis=0)
        for name in ("assign_embedding_sources", "compute_default_embedding"):
            setattr(task, name, getattr(PermutedVocabulary, name).__get__(task))
        tensors = {reference: torch.ones(rows, 2) for reference, rows in models}
        result = PermutedVocabulary.execute(task, info, tensors)
        vocab = info.tokenizer.get_vocab()
        return [len(result[references[0]]), len(vocab), len(set(vocab.values()))]
    except BaseException as error:  # a panic of the tokenizers library is no Exception
        return f"{type(error).__name__}: {error}"


abc = {"a": 0, "b": 1, "c": 2}
plain = model("plain", abc, 3)
padded = model("padded", abc, 8)
with_ab = model("with_ab", {**abc, "ab": 3}, 3, merges=["a b"])
unused = model("unused", abc, 3, [added(3, "<x>")])
holes = model("holes", {"a": 0, "b": 1, "c": 4}, 5)
two_added = model("two_added", abc, 5, [added(3, "<x>"), added(4, "<y>")])
scored = model("scored", ["<unk>", "a", "b"], 2, unigram=True)
words = model("words", {token: id for id, token in enumerate(["a", "b", *"defghijklmnopqrstuvwxyz"])}, 25)

facts = {
    "token_without_row_that_merges_make": merge([with_ab, plain], "union"),
    "unigram_token_without_row": merge([scored, plain], "union"),
    "token_without_row_in_another_model": merge([two_added, unused], "union"),
    "ids_left_out": merge([holes, two_added], "union"),
    "rule_without_source": merge([plain, two_added], "union", {"<x>": {}}),
    "new_token_with_source_base": merge(
        [plain, two_added], "base", {"<new>": {"source": {"kind": "zero"}}}
    ),
    "new_token_with_source_union": merge(
        [plain, two_added], "union", {"<new>": {"source": {"kind": "zero"}}}
    ),
}
program = (
    "import sys, json, transformers; from mergekit.common import ModelReference; "
    "from mergekit.tokenizer.build import build_tokenizer; "
    "models = [ModelReference.model_validate(path) for path in sys.argv[1:]]; "
    "vocab = build_tokenizer(None, models, 'union', False, []).tokenizer.get_vocab(); "
    "print(sorted(vocab, key=vocab.get))"
)
runs = {
    subprocess.run(
        [sys.executable, "-c", program, *(reference.model.path for reference, _ in (plain, words))],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for _ in range(3)
}
facts["orders_of_three_unions"] = len(runs)

json.dump(facts, sys.stdout)
