"""A merged checkpoint: the source of each layer, as recorded in `layerloom.json`."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._errors import LayerloomError, named
from .._merged import path_text
from .html import colours_of, escape, framed, heading, muted, table
from .json_file import Value, fault_of, read_object

read_failed = fault_of("READ_FAILED", separator=" cannot be read:")


@dataclass(frozen=True)
class Origin:

    layers: tuple[int, int] | None
    """The first and the last layer, or None for the tensors outside the layers."""
    words: tuple[str, ...]
    """Formulas, by falling number of bytes: `swh-1`, `0.5 math-1 + 0.5 swh-1`."""


class Merge:
    """A merge on disk. In a notebook it shows its layers, with the last layer on top.

    Args:
        path: its directory
        name: its name; default: its directory's name
        scores: its rows of `Study.rows("scores")`

    Raises:
        LayerloomError: READ_FAILED if `layerloom.json` is missing or damaged.
    """

    def __init__(self, path: str | os.PathLike[str], name: str | None = None, scores: Sequence[Mapping[str, Any]] = ()) -> None:
        with named("Merge(): path"):
            self.path = os.path.abspath(path_text(path))
        self.name = os.path.basename(self.path) if name is None else name
        self.scores = scores
        file = os.path.join(self.path, "layerloom.json")
        if not os.path.lexists(file):
            reason = "has no layerloom.json, so it is no output of layerloom" if os.path.isdir(self.path) else "is no directory of a merge"
            raise LayerloomError("READ_FAILED", f"{self.path} {reason}", {"file": file, "reason": reason}, 3)
        record = read_object(file, "the record of a merge", read_failed)
        self.method: str = record["method"].text()
        self.recipe: dict[str, Any] = dict(record["completeRecipe"].object())
        self.layers: int = record["architecture"]["layers"].integer()
        self.inputs: list[tuple[str, str]] = [(one["name"].text(), one["role"].text()) for one in record["inputs"]]
        """Name and role of each model."""
        origins = record.get("origins")
        self.origins: list[Origin] = [] if origins is None else [origin_of(one) for one in origins]
        """Origins of the layers from the bottom, then outside the layers; empty if an earlier version made the
        merge."""

    def __repr__(self) -> str:
        return f"<merge {self.name}: {self.method} of {', '.join(name for name, _ in self.inputs)}>"

    def _repr_svg_(self) -> str:
        return stack(self.layers, self.origins, self.inputs, "#767c85")

    def _repr_html_(self) -> str:
        models = ", ".join(f"{name} ({role})" if role else name for name, role in self.inputs)
        head = heading(self.name, f"{self.method} of {models}")
        if not self.origins:
            picture = f'<div style="{muted}">its layers are not recorded: an earlier version made it</div>'
        else:
            picture = stack(self.layers, self.origins, self.inputs, "currentColor")
        return framed(f'{head}<div style="display:flex;flex-wrap:wrap;gap:28px">{picture}{scores_of(self.scores)}</div>')


def origin_of(value: Value) -> Origin:
    layers, words = value.get("layers"), tuple(value["from"].texts())
    if layers is None:
        return Origin(None, words)
    first, last = (one.integer() for one in layers.pair())
    return Origin((first, last), words)


def scores_of(scores: Sequence[Mapping[str, Any]]) -> str:
    shown = [one for one in scores if one["headline"] is not False and one["value"] is not None]
    if not shown:
        return ""
    rows = [
        [
            escape(one["task"]),
            escape(f"{one['metric']},{one['filter']}" if one["filter"] else one["metric"]),
            f"{one['value']:.3f}" + ("" if one["stderr"] is None else f" ± {one['stderr']:.3f}"),
            str(one["n"]),
        ]
        for one in shown
    ]
    return f"<div>{table(['task', 'metric', 'score', 'problems'], rows, left=2)}</div>"


def shares_of(words: str, names: Sequence[str]) -> dict[str, float]:
    """The weight of each model in a formula that is a sum; in other formulas, models count equally."""
    longest = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    number = r"(?:(?P<weight>\d+(?:\.\d+)?(?:e-?\d+)?) )?"
    shares: dict[str, float] = {}
    if longest:
        for found in re.finditer(rf"{number}(?<![\w.-])Δ?(?P<name>{longest})(?![\w-])", words):
            shares.setdefault(found["name"], float(found["weight"] or 1))
    return shares if sum(shares.values()) > 0 else {}


WIDTH = 150
LONGEST = 56
"""Returns the first letters of a formula; the tooltip shows the whole formula."""


def stack(layers: int, origins: Sequence[Origin], inputs: Sequence[tuple[str, str]], ink: str) -> str:
    colours = colours_of(inputs)
    step = max(4, min(14, 320 // max(1, layers)))
    # A single layer also needs room for its words.
    runs = [(one, max(16, step * (one.layers[1] - one.layers[0] + 1))) for one in origins if one.layers is not None]
    outside = [(one, 16) for one in origins if one.layers is None]
    parts: list[str] = []
    y = 2
    for origin, height in [*reversed(runs), *outside]:
        if origin.layers is None:
            y += 6
        text = "; ".join(origin.words)
        label = "outside" if origin.layers is None else "–".join(map(str, sorted(set(origin.layers))))
        count = 1 if origin.layers is None else min(layers, origin.layers[1] - origin.layers[0] + 1)
        parts.append(f"<g><title>{escape(label)}: {escape(text)}</title>")
        for at in range(count):
            parts += bars(origin.words, colours, y + height * at / count, height / count)
        middle = y + height / 2 + 4
        parts.append(f'<text x="52" y="{middle:g}" text-anchor="end" opacity=".68">{escape(label)}</text>')
        parts.append(f'<text x="{WIDTH + 72}" y="{middle:g}">{escape(shortened(text, LONGEST))}</text></g>')
        y += height
    for at, (name, colour) in enumerate(colours.items()):
        x, row = 60 + 160 * (at % 3), y + 14 + 20 * (at // 3)
        parts.append(f'<rect x="{x}" y="{row}" width="12" height="12" rx="3" fill="{colour}"/>')
        parts.append(f'<text x="{x + 18}" y="{row + 10}">{escape(shortened(name, 20))}</text>')
    height = y + 14 + 20 * -(-len(colours) // 3)
    letters = max((min(LONGEST, len("; ".join(one.words))) for one in origins), default=0)
    width = max(WIDTH + 84 + 7 * letters, 60 + 160 * min(3, len(colours)))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" '
        f'font-family="system-ui,sans-serif" font-size="12" fill="{ink}"><title>layers and their models</title>'
        f"{''.join(parts)}</svg>"
    )


def shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def bars(words: Sequence[str], colours: Mapping[str, str], y: float, height: float) -> list[str]:
    shares: dict[str, float] = {}
    for text in words:
        for name, share in shares_of(text, list(colours)).items():
            shares[name] = shares.get(name, 0) + share
    total, x = sum(shares.values()), 60.0
    drawn: list[str] = []
    for name, share in (shares or {"": 1.0}).items():
        width = WIDTH * share / (total or 1)
        fill = colours.get(name, "none")
        drawn.append(
            f'<rect x="{x:g}" y="{y + 0.5:g}" width="{width:g}" height="{height - 1:g}" rx="1.5" fill="{fill}" '
            f'stroke="currentColor" stroke-opacity="{0 if name else 0.4}"/>'
        )
        x += width
    return drawn
