"""Spells a call's values as words of a command line."""

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from ._merged import StrPath
from ._plain import items_of, scalar_of, text_of_number
from ._scratch import Scratch


class Held:
    """A word that is known only after the models in memory are written."""

    def __init__(self, write: Callable[[Scratch], str], prefix: str = "") -> None:
        self.write = write
        self.prefix = prefix

    def text(self, scratch: Scratch) -> str:
        return self.prefix + self.write(scratch)


One: TypeAlias = float | StrPath | Held

Word: TypeAlias = str | Held


def text_of(value: float | StrPath) -> str:
    """Spells a value as the command line takes it: integers without a point."""
    scalar = scalar_of(value)
    if scalar is None or isinstance(scalar, bool):
        raise TypeError(f"expected a text, a path, a number or a list of these, not {value!r}")
    text = scalar if isinstance(scalar, str) else text_of_number(scalar)
    # Lines of JSON cannot contain other file names.
    if re.search("[\0\ud800-\udfff]", text):
        raise ValueError(f"expected a text of Unicode without NUL, got {text!r}")
    return text


def word_of(value: One) -> Word:
    return value if isinstance(value, Held) else text_of(value)


def several(value: Any) -> list[Word]:
    """Spells a value or a list of values."""
    if value is None:
        return []
    ordered = None if isinstance(value, Held) or scalar_of(value) is not None else items_of(value)
    return [word_of(value)] if ordered is None else [word_of(one) for one in ordered]


def prefixed(prefix: str, word: Word) -> Word:
    return Held(word.write, prefix) if isinstance(word, Held) else prefix + word


def option(long: str, value: Any) -> list[Word]:
    if value is None or value is False:
        return []
    if value is True:
        return [long]
    if isinstance(value, Held):
        return [prefixed(f"{long}=", value)]
    return [f"{long}={','.join(map(str, several(value)))}"]


def each(long: str, value: Any) -> list[Word]:
    return [prefixed(f"{long}=", word) for word in several(value)]


def texts_of(words: Sequence[Word], scratch: Scratch) -> list[str]:
    return [word.text(scratch) if isinstance(word, Held) else word for word in words]
