"""Makes the Gram matrices for method `regmean`: of the inputs of each linear layer of a model.

    python -m layerloom.train.grams MODEL --data rows.jsonl -o grams.safetensors

A layer's Gram matrix is the mean of x xᵀ over the tokens of all rows, where x is the layer's input. Each
row's XᵀX is computed in float32 and added in float32, in row order; the sum is divided by the number of
tokens and made symmetric. A row has a `text`, or `messages` for the tokenizer's chat template.

The file has a matrix under the name of a layer's weight. Layers with the same inputs, such as queries, keys
and values, share one: `shared` in the metadata gives its name. A tied head has none.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import torch

from layerloom._safetensors import write_header
from layerloom.train.rows import DataError, load, parser_of, replacing

# Number of tokens in the row that finds layers with the same inputs.
PROBE = 8


def main(arguments: list[str] | None = None) -> None:
    parser = parser_of("grams", "Makes the Gram matrices of the inputs of a model's linear layers, of rows of text.")
    parser.add_argument(
        "--memory", type=gigabytes, default=4e9, metavar="GB",
        help="gigabytes of matrices at a time; the rows are gone over again for the others (default 4)",
    )
    parser.add_argument("--exclude", type=pattern, metavar="REGEX", help="none of layers whose names it is found in")
    given = parser.parse_args(arguments)
    try:
        model, rows = load(given)
        inputs = shared_inputs(model, rows[0][:, :PROBE], given.exclude)
        write(given.out, inputs, grams_of(model, rows, inputs, given.memory), rows)
    except DataError as error:
        sys.exit(f"error: {error}")
    layers = sum(len(one.layers) for one in inputs)
    size = given.out.stat().st_size / 1e9
    print(f"{given.out}: {len(inputs)} matrices for {layers} layers, of {len(rows)} rows; {size:.3g} GB")


def gigabytes(text: str) -> float:
    number = float(text) * 1e9
    if not number > 0:
        raise argparse.ArgumentTypeError("a number above 0")
    return number


def pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"a regular expression: {error}") from error


@dataclass
class Inputs:
    """The Gram matrix of the inputs that one or several linear layers get in each forward pass."""

    layers: dict[str, torch.nn.Linear] = field(default_factory=dict)
    # Number of calls of the first layer in a forward pass; 0 if the probe did not reach the layer, as for some experts.
    calls: int = 0

    @property
    def name(self) -> str:
        return next(iter(self.layers))

    @property
    def width(self) -> int:
        return next(iter(self.layers.values())).in_features

    @property
    def bytes(self) -> int:
        return 4 * self.width**2


def linear_layers(model: torch.nn.Module, exclude: re.Pattern[str] | None) -> dict[str, torch.nn.Linear]:
    """Returns the linear layers by their weights' names, except those tied to the embeddings."""
    embeddings = model.get_input_embeddings()
    layers = {
        f"{name}.weight": module
        for name, module in model.named_modules()
        if isinstance(module, torch.nn.Linear) and (embeddings is None or module.weight is not embeddings.weight)
    }
    found = {name: layer for name, layer in layers.items() if exclude is None or not exclude.search(name)}
    if not found:
        raise DataError("the model has no linear layers (torch.nn.Linear)" + (", but excluded ones" if layers else ""))
    return found


@contextmanager
def watching(layers: Iterable[torch.nn.Module], watch) -> Iterator[None]:
    """Calls watch(layer, input) before each forward pass of a layer."""
    handles = [layer.register_forward_pre_hook(lambda layer, given: watch(layer, given[0])) for layer in layers]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def shared_inputs(model: torch.nn.Module, row: torch.Tensor, exclude: re.Pattern[str] | None = None) -> list[Inputs]:
    """Returns the inputs of a model's linear layers, in the order of a forward pass.

    Layers whose input is the same tensor share it. Layers that the row does not reach have separate inputs, at the
    end.
    """
    layers = linear_layers(model, exclude)
    # Keeps tensors until all have been seen, because a freed tensor's memory could be reused for another.
    seen: dict[torch.nn.Module, list[torch.Tensor]] = {}
    with watching(layers.values(), lambda layer, given: seen.setdefault(layer, []).append(given)):
        forward(model, row)
    names = {layer: name for name, layer in layers.items()}
    found: dict[tuple[int, ...], Inputs] = {}
    for layer, given in seen.items():
        inputs = found.setdefault(tuple(map(id, given)), Inputs(calls=len(given)))
        inputs.layers[names[layer]] = layer
    others = [Inputs({name: layer}) for name, layer in layers.items() if layer not in seen]
    return [*found.values(), *others]


class Enough(Exception):
    """Stops the forward pass."""


@torch.inference_mode()
def forward(model: torch.nn.Module, row: torch.Tensor) -> None:
    model.eval()
    try:
        model(input_ids=row.to(model.device), use_cache=False)
    except Enough:
        pass


def grams_of(model: torch.nn.Module, rows: Iterable[torch.Tensor], inputs: list[Inputs], memory: float) -> Iterator[torch.Tensor]:
    """Yields the Gram matrix of each of some inputs, in order: in float32, of shape (width, width).

    Computes as many at a time as fit in `memory` bytes, but at least one; each such part passes over all
    rows. Raises DataError if a matrix is not finite.
    """
    rest = list(inputs)
    while rest:
        size, part = 0, []
        while rest and (not part or size + rest[0].bytes <= memory):
            size += rest[0].bytes
            part.append(rest.pop(0))
        yield from part_of(model, rows, part)


def part_of(model: torch.nn.Module, rows: Iterable[torch.Tensor], part: list[Inputs]) -> Iterator[torch.Tensor]:
    sums = {one.name: torch.zeros(one.width, one.width, device=model.device) for one in part}
    tokens = dict.fromkeys(sums, 0)
    of = {layer: one for one in part for layer in one.layers.values()}
    current: dict[str, torch.Tensor] = {}
    # If each layer is called once in a pass, stops after the last.
    last = part[-1] if all(one.calls == 1 for one in part) else None

    def watch(layer: torch.nn.Module, given: torch.Tensor) -> None:
        one = of[layer]
        if layer is not one.layers[one.name]:
            if given is not current.get(one.name):
                raise DataError(f"{one.name} has other inputs than layers that it shared them with in the first row")
            return
        current[one.name] = given
        x = given.reshape(-1, one.width).float()
        sums[one.name].add_(x.T @ x)
        tokens[one.name] += len(x)
        if one is last:
            raise Enough

    for row in rows:
        with watching(of, watch):
            forward(model, row)
        current.clear()
    for one in part:
        # Removes the matrix, so that its memory is freed after writing.
        gram = sums.pop(one.name).div_(max(1, tokens[one.name]))
        gram = (gram + gram.T).div_(2)
        if not torch.isfinite(gram).all():
            raise DataError(f"{one.name}: its inputs are not finite")
        yield gram


def write(path: Path, inputs: list[Inputs], grams: Iterable[torch.Tensor], rows: list[torch.Tensor]) -> None:
    """Writes a safetensors file atomically, with one matrix in memory at a time."""
    shared = {name: one.name for one in inputs for name in one.layers if name != one.name}
    tokens = sum(row.shape[1] for row in rows)
    metadata = {"format": "pt", "rows": str(len(rows)), "tokens": str(tokens), "shared": json.dumps(shared)}
    with replacing(path) as partial, partial.open("wb") as file:
        file.write(write_header(((one.name, "F32", (one.width, one.width)) for one in inputs), metadata))
        for gram in grams:
            file.write(gram.cpu().numpy().astype("<f4", copy=False).data)


if __name__ == "__main__":
    main()
