"""Converts values of NumPy, torch and the standard library to those of JSON, wherever a call takes one."""

import math
import numbers
import os
import sys
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Protocol, TypeAlias, cast


class Array(Protocol):
    """An array of NumPy or torch, or another object with `tolist`."""

    def tolist(self) -> Any: ...


class ArrayDtype(Protocol):
    @property
    def itemsize(self) -> int: ...


Dtype: TypeAlias = ArrayDtype | type[Any]
"""A dtype of torch, NumPy or ml_dtypes: `torch.bfloat16`, `numpy.float32`."""


def number_of(value: Any) -> bool | int | float | None:
    """Returns a number as Python's own, with the same value, or None for any other value.

    A number of lower precision keeps its value: `numpy.float32(0.1)` is 0.10000000149011612 everywhere.
    """
    if isinstance(value, bool):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, (numbers.Real, Decimal)):
        return float(value)
    # A scalar of NumPy or torch, or an array without dimensions.
    if getattr(value, "shape", None) != () or not hasattr(value, "item") or hasattr(value, "mask"):
        return None
    one = value.item()
    return None if hasattr(one, "item") else number_of(one)


def dtype_of(value: Any) -> str | None:
    """Returns the name of a dtype of torch, NumPy or ml_dtypes, or None for any other value."""
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    if torch is not None and isinstance(value, torch.dtype):
        return str(value).removeprefix("torch.")
    if numpy is None or not isinstance(value, (type, numpy.dtype)):
        return None
    # Other classes are not dtypes, although NumPy reads them as `object`.
    if isinstance(value, type) and value not in (bool, int, float) and not issubclass(value, numpy.generic):
        return None
    return str(numpy.dtype(value).name)


def scalar_of(value: Any) -> str | bool | int | float | None:
    """Returns the JSON form of a text, a path, a number or a dtype, or None for any other value."""
    if isinstance(value, str):
        # Replaces a member of an enumeration by its value.
        return str.__str__(value)
    if isinstance(value, os.PathLike):
        return os.fsdecode(cast("os.PathLike[str]", value))
    number = number_of(value)
    return dtype_of(value) if number is None else number


def items_of(value: Any) -> Sequence[Any] | None:
    """The items of an ordered value that can be read repeatedly (a list, a tuple, an array), else None."""
    # Type checkers narrow the type of this name only.
    one: object = value
    if isinstance(one, Sequence) and not isinstance(one, (str, bytes, bytearray)):
        return cast("Sequence[Any]", value)
    return cast("Sequence[Any]", value.tolist()) if hasattr(value, "tolist") and getattr(value, "shape", ()) != () else None


def mapping_of(value: Any) -> Mapping[str, Any] | None:
    """A mapping, or the fields of an object of pydantic, such as mergekit's `MergeConfiguration`; else None."""
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value)
    # A class has the method too, but is not a mapping.
    if isinstance(value, type) or not hasattr(value, "model_dump"):
        return None
    fields: Any = value.model_dump(mode="json", exclude_defaults=True)
    return cast("Mapping[str, Any]", fields) if isinstance(fields, Mapping) else None


def text_of_number(value: int | float) -> str:
    """Spells a number as the command line takes it: integers without a point."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 and math.copysign(1, value) > 0:
        return str(int(value))
    return repr(value)
