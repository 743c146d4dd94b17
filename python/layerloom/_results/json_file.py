"""Reads layerloom's JSON files, which may be edited or half-written."""

import json
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias, cast

from .._errors import LayerloomError
from .table import Kind

Fault: TypeAlias = Callable[[str, str], LayerloomError]
"""Makes the error from a file and its fault."""

LARGEST = 2**53
"""Largest integer that JSON numbers express exactly."""


def fault_of(code: str, separator: str = ":", remedy: str = "") -> Fault:
    """Errors of corrupt input (exit code 3), in the command line's words."""

    def fault(file: str, reason: str) -> LayerloomError:
        return LayerloomError(code, f"{file}{separator} {reason}{remedy}", {"file": file, "reason": reason}, 3)

    return fault


def read_bytes(file: str) -> bytes:
    """Reads a regular file; refuses a pipe without waiting for its writer.

    Raises:
        OSError, ValueError: with the reason; ValueError for an impossible file name.
    """
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as opened:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError("it is no regular file; put one in its place")
        return opened.read()


def refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no number of JSON")


def read_object(file: str, what: str, fault: Fault) -> "Value":
    """Reads a JSON file.

    Args:
        file: its path
        what: the kind of file, for errors: `the record of an experiment`
        fault: makes the error
    """
    try:
        content = read_bytes(file)
    except (OSError, ValueError) as error:
        raise fault(file, getattr(error, "strerror", None) or str(error)) from error
    try:
        value: object = json.loads(content.decode(), parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise fault(file, f"is not JSON: {error}") from error
    return Value(value, "", lambda reason: fault(file, f"is not {what} ({reason})"))


kinds: dict[type, str] = {str: "string", bool: "boolean", int: "number", float: "number", list: "array", dict: "object"}


class Value:
    """A value of a file. Checks the value when it is read, so that an error names its place."""

    __slots__ = ("at", "fail", "value")

    def __init__(self, value: object, at: str, fail: Callable[[str], LayerloomError]) -> None:
        self.value = value
        self.at = at
        self.fail = fail

    def wrong(self, expected: str) -> LayerloomError:
        found = "null" if self.value is None else kinds.get(type(self.value), "nothing")
        return self.fail(f"{self.at or 'the file'}: expected {expected}, received {found}")

    def object(self) -> dict[str, object]:
        value = self.value
        if not isinstance(value, dict):
            raise self.wrong("object")
        return cast("dict[str, object]", value)

    def __getitem__(self, key: str) -> "Value":
        """Returns the value of a key. The value of a missing key fails every check."""
        return Value(self.object().get(key, MISSING), f"{self.at}.{key}" if self.at else key, self.fail)

    def __contains__(self, key: str) -> bool:
        return key in self.object()

    def get(self, key: str) -> "Value | None":
        """The value of a key, or None if it is missing or null."""
        found = self[key]
        return None if found.value is MISSING or found.value is None else found

    def row(self, kinds: Mapping[str, Kind], names: str, optional: str = "") -> dict[str, Any]:
        """Returns the columns of these names; their keys are the names in camel case.

        Args:
            kinds: of the columns
            optional: names whose missing or null key gives None
        """
        row: dict[str, Any] = {}
        for name in f"{names} {optional}".split():
            key = re.sub("_(.)", lambda found: found[1].upper(), name)
            found = self.get(key) if name in optional.split() else self[key]
            row[name] = None if found is None else READ[kinds[name]](found)
        return row

    def items(self) -> Iterator[tuple[str, "Value"]]:
        for key in self.object():
            yield text_of(key), self[key]

    def __iter__(self) -> Iterator["Value"]:
        value = self.value
        if not isinstance(value, list):
            raise self.wrong("array")
        for index, one in enumerate(cast("list[object]", value)):
            yield Value(one, f"{self.at}.{index}" if self.at else str(index), self.fail)

    def text(self) -> str:
        if not isinstance(self.value, str):
            raise self.wrong("string")
        return text_of(self.value)

    def number(self) -> float:
        if isinstance(self.value, bool) or not isinstance(self.value, (int, float)):
            raise self.wrong("number")
        try:
            return float(self.value)
        except OverflowError:
            raise self.wrong("a number of 64 bits") from None

    def integer(self) -> int:
        number = self.number()
        if not number.is_integer() or abs(number) > LARGEST:
            raise self.wrong("int")
        return int(number)

    def boolean(self) -> bool:
        if not isinstance(self.value, bool):
            raise self.wrong("boolean")
        return self.value

    def pair(self) -> "tuple[Value, Value]":
        both = list(self)
        if len(both) != 2:
            raise self.wrong("two values")
        return both[0], both[1]

    def texts(self) -> list[str]:
        return [one.text() for one in self]


MISSING: Any = object()

READ: dict[Kind, Callable[[Value], Any]] = {
    "text": Value.text, "integer": Value.integer, "number": Value.number, "boolean": Value.boolean, "texts": Value.texts,
}


def text_of(text: str) -> str:
    """The text with U+FFFD for lone surrogates, which JSON can express but encodings cannot."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
