"""Writes the training data that data.yaml describes: JSON lines of a prompt and its completion.

Runs beside data.yaml. Needs datasets and PyYAML; hub sets with a loading script (allenai/nllb) need datasets
< 4, or a copy on disk given as `path`. Draws the rows of each set at random by the seed; mixes and shuffles
the kinds of data. Every error is one message that names the data set and what to change.
"""

import argparse
import itertools
import json
import random
from pathlib import Path

import yaml

# Columns of a user's file, tried in this order.
KNOWN_COLUMNS = [
    (["prompt"], "completion"),
    (["instruction", "input"], "output"),
    (["instruction"], "output"),
    (["inputs"], "targets"),
    (["question"], "answer"),
]


def stop(name, reason, remedy):
    raise SystemExit(f"prepare_data.py: {name}: {reason}; {remedy}")


def load(spec, seed):
    """Rows of a data set, shuffled, from its path or the hub."""
    from datasets import load_dataset

    name = spec["name"]
    try:
        if "path" in spec:
            path = Path(spec["path"])
            kind = {".jsonl": "json", ".json": "json", ".csv": "csv", ".parquet": "parquet"}.get(path.suffix)
            if kind is None:
                stop(name, f"{path} is no .jsonl, .json, .csv or .parquet file", "convert it")
            rows = load_dataset(kind, data_files=str(path), split="train")
        elif spec.get("without_files"):
            rows = load_dataset("json", data_files=files_without(spec), split="train")
        else:
            rows = load_dataset(spec["hub"], spec.get("config"), split=spec["split"])
    except SystemExit:
        raise
    except Exception as error:
        remedy = "accept its terms, pip install 'datasets<4' if it has a script, or give a copy as path in data.yaml"
        stop(name, f"cannot be loaded ({type(error).__name__}: {error})", remedy)
    for column, value in spec.get("where", {}).items():
        require(name, rows, [column])
        rows = rows.filter(lambda row, column=column, value=value: row[column] == value)
    return rows.shuffle(seed=seed)


def files_without(spec):
    """The set's files on the hub, except those whose names contain `without_files`."""
    from huggingface_hub import HfFileSystem

    word, folder = spec["without_files"], f"datasets/{spec['hub']}/{spec['config']}"
    files = [file for file in HfFileSystem().ls(folder, detail=False) if file.endswith(".jsonl")]
    kept = [file for file in files if word not in file.rsplit("/", 1)[-1].lower()]
    if len(kept) == len(files) and spec.get("without_sentences") is None:
        remedy = "give a file of its sentences, one a line, as without_sentences in data.yaml"
        stop(spec["name"], f"no file of {folder} is named {word}, so that its rows cannot be told apart", remedy)
    return [f"hf://{file}" for file in kept]


def require(name, rows, columns):
    missing = [column for column in columns if column not in rows.column_names]
    if missing:
        there = ", ".join(rows.column_names)
        stop(name, f"has no column {', '.join(missing)}, but {there}", "correct the columns in data.yaml")


def pair_maker(spec, rows):
    """A function from a row and a random generator to (prompt, completion)."""
    name = spec["name"]
    if "translation" in spec:
        require(name, rows, ["translation"])
        return lambda row, order: translated(row["translation"], spec["translation"], order)
    if "turns" in spec:
        require(name, rows, [spec["turns"]])
        return lambda row, order: first_turn(row[spec["turns"]])
    if "prompt" in spec:
        columns, completion = spec["prompt"], spec["completion"]
        require(name, rows, [*columns, completion])
    else:
        fitting = [form for form in KNOWN_COLUMNS if {*form[0], form[1]} <= set(rows.column_names)]
        if not fitting:
            there = ", ".join(rows.column_names)
            stop(name, f"has the columns {there}", "name them prompt and completion")
        columns, completion = fitting[0]
    return lambda row, order: ("\n\n".join(row[column] for column in columns if row[column]), row[completion])


def translated(pair, spec, order):
    """Chooses either direction with equal chance (our choice)."""
    english, other = pair[spec["english"]], pair[spec["other"]]
    if order.random() < 0.5:
        return f"Translate to {spec['name']}: {english}", other
    return f"Translate to English: {other}", english


def first_turn(turns):
    """The first message and its answer."""
    first = turns[0] if turns else ("", "")
    return first[0], first[1]


def shares(available, ratios, wanted):
    """The number of rows of each set, by ratio. Other sets replace a small set's missing rows, by their ratios."""
    taken, open_sets = [0] * len(available), set(range(len(available)))
    left = wanted
    while left > 0 and open_sets:
        total = sum(ratios[index] for index in open_sets)
        small = [index for index in open_sets if available[index] <= left * ratios[index] / total]
        if not small:
            exact = {index: left * ratios[index] / total for index in open_sets}
            for index in open_sets:
                taken[index] = int(exact[index])
            by_rest = sorted(open_sets, key=lambda index: (int(exact[index]) - exact[index], index))
            for index in by_rest[: left - sum(taken[index] for index in open_sets)]:
                taken[index] += 1
            return taken
        for index in small:
            taken[index] = available[index]
            open_sets.discard(index)
        left = wanted - sum(taken)
    return taken


def pairs_of(spec, rows, count, unwanted, order):
    """Up to `count` pairs of a shuffled set, without empty pairs and pairs with an unwanted sentence."""
    make, pairs = pair_maker(spec, rows), []
    for row in rows:
        if len(pairs) == count:
            break
        prompt, completion = make(row, order)
        if not (isinstance(prompt, str) and isinstance(completion, str) and prompt.strip() and completion.strip()):
            continue
        if any(sentence in prompt or sentence in completion for sentence in unwanted):
            continue
        pairs.append({"prompt": prompt.strip() + "\n", "completion": completion.strip()})
    return pairs


def part_rows(part, seed, order):
    """The samples of one kind of data."""
    sets = [load(spec, seed) for spec in part["sets"]]
    counts = shares([len(rows) for rows in sets], [spec["ratio"] for spec in part["sets"]], part["samples"])
    pairs = []
    for spec, rows, count in zip(part["sets"], sets, counts):
        sentences = spec.get("without_sentences")
        unwanted = [line for line in Path(sentences).read_text("utf8").splitlines() if line] if sentences else []
        found = pairs_of(spec, rows, count, unwanted, order)
        print(f"{spec['name']}: {len(found)} of {len(rows)} rows")
        pairs += found
    if len(pairs) < part["samples"]:
        print(f"{part['kind']}: {len(pairs)} samples, of {part['samples']} wanted: the trainer will repeat some")
    if not pairs:
        stop(part["kind"], "has no rows", "give data with prompts and completions")
    order.shuffle(pairs)
    return pairs


def write(path, rows):
    """Writes the rows atomically. Renames an existing file with other rows instead of replacing it."""
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and path.read_text("utf8") == text:
        print(f"unchanged: {path} ({len(rows)} samples)")
        return
    partial = path.with_name(f".{path.name}.part")
    partial.write_text(text, "utf8")
    if path.exists():
        aside = next(name for number in itertools.count(1) if not (name := Path(f"{path}.{number}")).exists())
        path.rename(aside)
        print(f"renamed: {path} to {aside.name}, since its rows are others")
    partial.rename(path)
    print(f"written: {path} ({len(rows)} samples)")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--config", type=Path, default=Path(__file__).parent / "data.yaml")
    config = parser.parse_args().config
    wanted, folder = yaml.safe_load(config.read_text("utf8")), config.parent
    order = random.Random(wanted["seed"])
    everything = []
    for part in wanted["parts"]:
        rows = part_rows(part, wanted["seed"], order)
        if "out" in part:
            write(folder / part["out"], rows)
        everything += rows
    order.shuffle(everything)
    write(folder / wanted["out"], everything)


if __name__ == "__main__":
    main()
