"""Loads the model and the rows of text for this package's programs."""

import argparse
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


class DataError(Exception):
    """Rows or a model that cannot be used."""


def parser_of(module: str, description: str) -> argparse.ArgumentParser:
    """Returns the argument parser of `python -m layerloom.train.MODULE`, for `load`."""
    parser = argparse.ArgumentParser(prog=f"python -m layerloom.train.{module}", description=description)
    parser.add_argument("model", help="a directory, or a model of the hub")
    parser.add_argument("--data", type=Path, required=True, help="the rows (.jsonl), each with `text` or `messages`")
    parser.add_argument("-o", "--out", type=Path, required=True, help=f"the file of the {module} (.safetensors)")
    parser.add_argument("--rows", type=positive, help="so many rows, the first ones (default all)")
    parser.add_argument("--length", type=positive, default=2048, help="tokens of a row, at most (default 2048)")
    parser.add_argument("--device", default="auto", help="where the model computes: auto, cpu, cuda (default auto)")
    return parser


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("a whole number from 1 on")
    return number


def load(given: argparse.Namespace) -> tuple[torch.nn.Module, list[torch.Tensor]]:
    """Returns the model, in float32 on its device, and the token ids of each row, of shape (1, tokens).

    Raises DataError, for the rows before the model is loaded.
    """
    if given.out.suffix != ".safetensors":
        raise DataError(f"{given.out}: the file must end in .safetensors")
    if not given.out.parent.is_dir():
        raise DataError(f"{given.out}: there is no folder {given.out.parent}; make it first")
    device = device_of(given.device)
    tokenizer = loaded(AutoTokenizer, given.model, "tokenizer")
    rows = list(tokens_of(given.data, tokenizer, given.rows, given.length))
    model = loaded(AutoModelForCausalLM, given.model, "model", dtype=torch.float32)
    return model.to(device), rows


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yields a file to write. Afterwards the file replaces `path`, or is removed after a failure."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        yield partial
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def device_of(name: str) -> torch.device:
    """Returns the device of a name, or the best device for `auto`. Raises DataError if the device is missing."""
    try:
        device = torch.device(name if name != "auto" else "cuda" if torch.cuda.is_available() else "cpu")
        torch.empty(1, device=device)
    # Builds without CUDA raise an AssertionError.
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise DataError(f"--device {name}: {first_line(error)}; give auto, cpu or cuda") from error
    return device


def loaded(kind, model: str, what: str, **options):
    """Returns what transformers loads, or raises DataError."""
    try:
        return kind.from_pretrained(model, **options)
    except (OSError, ValueError, KeyError, TypeError, ImportError) as error:
        raise DataError(f"{model}: its {what} cannot be loaded: {first_line(error)}") from error


def first_line(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0]


def tokens_of(path: Path, tokenizer, most: int | None, length: int) -> Iterator[torch.Tensor]:
    """Checks rows, then yields their token ids. Raises DataError with the row's number."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: {error}") from error
    numbered = [(number, line) for number, line in enumerate(lines, 1) if line.strip()][:most]
    if not numbered:
        raise DataError(f"{path}: no rows")
    for number, line in numbered:
        text, is_templated = text_of(line, tokenizer, f"{path}:{number}")
        # A chat template writes the tokens that a tokenizer adds to plain text.
        ids = tokenizer(text, return_tensors="pt", truncation=True, max_length=length, add_special_tokens=not is_templated)
        if ids["input_ids"].shape[1] < 2:
            raise DataError(f"{path}:{number}: fewer than two tokens, of which none is predicted")
        yield ids["input_ids"]


def text_of(line: str, tokenizer, place: str) -> tuple[str, bool]:
    """Returns the text of a row, and true if a chat template made it."""
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise DataError(f"{place}: not JSON: {error}") from error
    if isinstance(row, dict) and isinstance(row.get("text"), str):
        return row["text"], False
    if isinstance(row, dict) and isinstance(row.get("messages"), list):
        if tokenizer.chat_template is None:
            raise DataError(f"{place}: messages, and the model's tokenizer has no chat template; give rows of `text`")
        return tokenizer.apply_chat_template(row["messages"], tokenize=False), True
    raise DataError(f"{place}: neither `text` nor `messages`")
