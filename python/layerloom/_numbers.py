"""Converts numbers of NumPy, torch and the standard library to Python's, wherever a call takes one."""

import math
import numbers
from decimal import Decimal
from typing import Any


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
    if getattr(value, "shape", None) != () or not hasattr(value, "item"):
        return None
    one = value.item()
    return None if hasattr(one, "item") else number_of(one)


def text_of_number(value: int | float) -> str:
    """Spells a number as the command line takes it: integers without a point."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 and math.copysign(1, value) > 0:
        return str(int(value))
    return repr(value)
