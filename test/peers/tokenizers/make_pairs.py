"""Writes models that differ in their vocabularies: tokenizer files and config.json, no weights.

    make_pairs.py EXPERTS MGSM OUT

Each directory OUT/CASE/MODEL is made from the tokenizer of EXPERTS/base, or trained on MGSM's questions.
"""

import json
import random
import shutil
import sys
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoTokenizer

experts, mgsm, out = map(Path, sys.argv[1:4])


def questions(language):
    lines = (mgsm / f"mgsm_{language}.tsv").read_text(encoding="utf-8").splitlines()
    return [line.split("\t")[0] for line in lines]


def token(content, special=True, **settings):
    return {
        "content": content,
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": not special,
        "special": special,
        **settings,
    }


def write(place, tokenizer, rows, config=None):
    """tokenizer: as in tokenizer.json; config: of the tokenizer."""
    directory = out / place
    directory.mkdir(parents=True)
    (directory / "tokenizer.json").write_text(
        json.dumps(tokenizer, ensure_ascii=False, indent=2), encoding="utf-8"
    )
    config = config or json.loads((experts / "base/tokenizer_config.json").read_text())
    (directory / "tokenizer_config.json").write_text(json.dumps(config, indent=2))
    write_config(directory, rows)
    return directory


def write_config(directory, rows):
    config = json.loads((experts / "base/config.json").read_text())
    (directory / "config.json").write_text(json.dumps({**config, "vocab_size": rows}))


def real(*added):
    tokenizer = json.loads((experts / "base/tokenizer.json").read_text(encoding="utf-8"))
    end = max(tokenizer["model"]["vocab"].values()) + 1
    for index, new in enumerate(added):
        tokenizer["added_tokens"].append({"id": end + index, **new})
    return tokenizer, end + len(added)


def trained(languages, size, algorithm="BPE"):
    unigram = algorithm == "Unigram"
    tokenizer = Tokenizer(models.Unigram() if unigram else models.BPE())
    tokenizer.pre_tokenizer = (
        pre_tokenizers.Metaspace() if unigram else pre_tokenizers.ByteLevel(add_prefix_space=False)
    )
    tokenizer.decoder = decoders.Metaspace() if unigram else decoders.ByteLevel()
    specials = ["<unk>", "<s>", "</s>"]
    trainer = (
        trainers.UnigramTrainer(
            vocab_size=size, special_tokens=specials, unk_token="<unk>", show_progress=False
        )
        if unigram
        else trainers.BpeTrainer(
            vocab_size=size,
            special_tokens=specials,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
    )
    tokenizer.train_from_iterator(
        [line for language in languages for line in questions(language)], trainer
    )
    return json.loads(tokenizer.to_str()), tokenizer.get_vocab_size()


small_config = {
    "tokenizer_class": "PreTrainedTokenizerFast",
    "bos_token": "<s>",
    "eos_token": "</s>",
    "unk_token": "<unk>",
}

plain, count = real()

# A token that only one expert has.
write("one-added/a", plain, count)
write("one-added/b", *real(token("<pad>")))

# Several with every setting; the third model has one with other settings.
write("several-added/a", plain, count)
write(
    "several-added/b",
    *real(token("<think>"), token("</think>"), token("<tool>", False, lstrip=True, rstrip=True)),
)
write(
    "several-added/c",
    *real(token("<tool>", False), token("word", False, single_word=True), token("<pad>")),
)

# Rows without tokens: as in Qwen's checkpoints, and as `resize_token_embeddings` pads them.
write("padded/a", plain, count + 128)
write("padded/b", real(token("<pad>"))[0], count + 64)

# The same tokens under other ids.
shuffled = json.loads(json.dumps(plain))
vocab = shuffled["model"]["vocab"]
moved = [name for name, id in vocab.items() if id >= 1000]
ids = [vocab[name] for name in moved]
random.Random(0).shuffle(ids)
vocab.update(zip(moved, ids))
write("reordered/a", plain, count)
write("reordered/b", shuffled, count)

write("two-bpe/a", *trained(["en", "sw"], 1500), small_config)
bengali, bengali_count = trained(["bn", "te"], 2000)
bengali["added_tokens"].append({"id": bengali_count, **token("<pad>")})
write("two-bpe/b", bengali, bengali_count + 1, small_config)

# Unigram, with an expert that added tokens; and a union of two.
english, english_count = trained(["en", "sw"], 1500, "Unigram")
with_pad = json.loads(json.dumps(english))
with_pad["added_tokens"].append({"id": english_count, **token("<pad>")})
write("unigram/a", english, english_count, small_config)
write("unigram/b", with_pad, english_count + 1, small_config)
write("two-unigram/a", english, english_count, small_config)
write("two-unigram/b", *trained(["ja"], 1200, "Unigram"), small_config)

write("two-kinds/a", *trained(["en"], 900), small_config)
write("two-kinds/b", english, english_count, small_config)

# Base tokens without a row: added ones, including its padding token, and results of merges.
with_unused, unused_count = real(token("<x>"), token("<y>"), token("<pad>"))
padding = {**json.loads((experts / "base/tokenizer_config.json").read_text()), "pad_token": "<pad>"}
write("without-rows/a", with_unused, count + 1)
write("without-rows/b", *real(token("<y>"), token("<z>")))
write("padding-without-row/a", with_unused, count + 1, padding)
write("padding-without-row/b", *real(token("<y>"), token("<z>")))
write("merges-without-rows/a", plain, count - 2)
write("merges-without-rows/b", plain, count - 2)

# As transformers 4 writes it, with `added_tokens_decoder` and its further files.
base, base_count = trained(["en", "sw"], 1500)


def written_by_4(place, tokenizer, rows, special=()):
    added = tokenizer["added_tokens"]
    directory = write(
        place,
        tokenizer,
        rows,
        {
            "added_tokens_decoder": {
                str(entry["id"]): {key: value for key, value in entry.items() if key != "id"}
                for entry in added
            },
            "additional_special_tokens": list(special),
            "bos_token": "<s>",
            "clean_up_tokenization_spaces": False,
            "eos_token": "</s>",
            "model_max_length": 2048,
            "tokenizer_class": "PreTrainedTokenizerFast",
            "unk_token": "<unk>",
        },
    )
    (directory / "special_tokens_map.json").write_text(
        json.dumps({"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}, indent=2)
    )
    (directory / "added_tokens.json").write_text(
        json.dumps({entry["content"]: entry["id"] for entry in added}, indent=2)
    )


with_tools = json.loads(json.dumps(base))
with_tools["added_tokens"] += [
    {"id": base_count, **token("<tool>")},
    {"id": base_count + 1, **token("</tool>", False)},
]
written_by_4("of-transformers-4/a", base, base_count)
written_by_4("of-transformers-4/b", with_tools, base_count + 2, ["<tool>"])

for name, added in (("a", []), ("b", ["<pad>", "<tool>"])):
    directory = out / "gpt2-files" / name
    directory.mkdir(parents=True)
    (directory / "vocab.json").write_text(json.dumps(base["model"]["vocab"], ensure_ascii=False))
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in base["model"]["merges"]]
    (directory / "merges.txt").write_text("#version: 0.2\n" + "\n".join(merges) + "\n", encoding="utf-8")
    config = {**small_config, "tokenizer_class": "GPT2Tokenizer"}
    (directory / "tokenizer_config.json").write_text(json.dumps(config, indent=2))
    if added:
        (directory / "added_tokens.json").write_text(
            json.dumps({text: base_count + index for index, text in enumerate(added)})
        )
    write_config(directory, base_count + len(added))

write("no-tokenizer/a", plain, count)
(out / "no-tokenizer/b").mkdir()
write_config(out / "no-tokenizer/b", count)
write("no-tokenizer/c", *real(token("<pad>")))

for directory in out.glob("*/*"):
    if (directory / "tokenizer_config.json").exists():
        AutoTokenizer.from_pretrained(directory)
