"""Makes the importances that method `fisher` weights by: the diagonal of a model's empirical Fisher information.

    python -m layerloom.train.importances MODEL --data rows.jsonl -o fisher.safetensors

Of each row it takes the gradient of the log-likelihood of all its tokens but the first, and of these gradients the mean of the
squares, element by element: one row at a time, in float32. A row has a `text`, or `messages` that the tokenizer's chat template
makes one of. The file has a tensor for each parameter, under the model's name for it; tied ones have the same under each name.
"""

import argparse
import json
import math
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, AutoTokenizer


class DataError(Exception):
    """Rows or a model of which no importances can be made."""


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m layerloom.train.importances",
        description="Makes the importances of a model's parameters (diagonal Fisher information) of rows of text.",
    )
    parser.add_argument("model", help="a directory, or a model of the hub")
    parser.add_argument("--data", type=Path, required=True, help="the rows (.jsonl), each with `text` or `messages`")
    parser.add_argument("-o", "--out", type=Path, required=True, help="the file of the importances (.safetensors)")
    parser.add_argument("--rows", type=positive, help="so many rows, the first ones (default all)")
    parser.add_argument("--length", type=positive, default=2048, help="tokens of a row, at most (default 2048)")
    parser.add_argument("--device", default="auto", help="where the model computes: auto, cpu, cuda (default auto)")
    given = parser.parse_args(arguments)
    try:
        if given.out.suffix != ".safetensors":
            raise DataError(f"{given.out}: the file must end in .safetensors")
        tokenizer = AutoTokenizer.from_pretrained(given.model)
        rows = list(tokens_of(given.data, tokenizer, given.rows, given.length))
        model = AutoModelForCausalLM.from_pretrained(given.model, dtype=torch.float32)
        device = given.device if given.device != "auto" else "cuda" if torch.cuda.is_available() else "cpu"
        importances = importances_of(model.to(device), rows)
    except DataError as error:
        sys.exit(f"error: {error}")
    squares = sum(tensor.double().square().sum().item() for tensor in distinct(importances.values()))
    elements = sum(tensor.numel() for tensor in distinct(importances.values()))
    mean = sum(tensor.double().sum().item() for tensor in distinct(importances.values())) / elements
    norm = math.sqrt(squares)
    # A file has each tensor by itself: tied ones are written under each of their names.
    tensors = {name: tensor.cpu().clone() for name, tensor in importances.items()}
    save_file(tensors, given.out, {"format": "pt", "rows": str(len(rows)), "norm": repr(norm), "mean": repr(mean)})
    print(f"{given.out}: {len(tensors)} tensors of {len(rows)} rows; mean {mean:.3g}, norm {norm:.3g}")


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("a whole number from 1 on")
    return number


def distinct(tensors: Iterable[torch.Tensor]) -> list[torch.Tensor]:
    """Returns each tensor once, in order."""
    return list({id(tensor): tensor for tensor in tensors}.values())


def tokens_of(path: Path, tokenizer, most: int | None, length: int) -> Iterator[torch.Tensor]:
    """Yields the token ids of rows, which are checked first. Raises DataError with the row's number."""
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
    """Returns the text of a row, and whether a chat template made it."""
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


def importances_of(model: torch.nn.Module, rows: Iterable[torch.Tensor]) -> dict[str, torch.Tensor]:
    """Returns by the names of the model's parameters the mean over rows of their squared gradients, in float32.

    `model` is a causal language model; rows are token ids of shape (1, tokens). Tied parameters are one tensor under several
    names. Raises DataError where a gradient is not finite.
    """
    model.eval()
    named = {name: value for name, value in model.state_dict(keep_vars=True).items() if isinstance(value, torch.nn.Parameter)}
    parameters = [parameter.requires_grad_(True) for parameter in distinct(named.values())]
    sums = {id(parameter): torch.zeros_like(parameter, dtype=torch.float32) for parameter in parameters}
    count = 0
    for row in rows:
        ids = row.to(parameters[0].device)
        logits = model(input_ids=ids, use_cache=False).logits[0, :-1].float()
        model.zero_grad(set_to_none=True)
        torch.nn.functional.cross_entropy(logits, ids[0, 1:], reduction="sum").backward()
        count += 1
        for parameter in parameters:
            # A part that the row does not reach, such as an expert that no token is routed to, has no gradient.
            if parameter.grad is None:
                continue
            if not torch.isfinite(parameter.grad).all():
                raise DataError(f"row {count}: its gradient is not finite")
            sums[id(parameter)].addcmul_(parameter.grad.float(), parameter.grad.float())
    model.zero_grad(set_to_none=True)
    for total in sums.values():
        total.div_(count)
    return {name: sums[id(parameter)] for name, parameter in named.items()}


if __name__ == "__main__":
    main()
