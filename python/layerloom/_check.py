"""Checks a call's arguments before the engine starts: their names, and impossible types."""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar

from ._spellings import shown_spellings

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

# As in `inspect`, which would add a fifth to this package's import time.
CO_COROUTINE = 0x80


def checked(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Raises TypeError, which names the parameter, if a call is certainly wrong."""
    if function.__code__.co_flags & CO_COROUTINE:

        @functools.wraps(function)
        async def call_async(*args: Any, **given: Any) -> Any:
            running: Any = function(*args, **check(function, args, given))
            return await running

        return call_async  # type: ignore[return-value]

    @functools.wraps(function)
    def call(*args: Any, **given: Any) -> Any:
        return function(*args, **check(function, args, given))

    return call


def check(function: Callable[..., object], args: Sequence[object], given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the named arguments under the function's own names."""
    name, code = function.__name__, function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    presets, types = function.__kwdefaults__ or {}, function.__annotations__
    own: dict[str, Any] = {}
    for word, value in given.items():
        parameter = word if word in names else shown_spellings.get(word, word)
        if parameter not in names:
            raise TypeError(f"{name}() has no parameter {word!r}{near(word, names)}")
        if parameter in own:
            raise TypeError(f"{name}(): {parameter} is given twice, in two spellings")
        own[parameter] = value
    if len(args) > code.co_argcount:
        by_place = ", ".join(names[: code.co_argcount]) or "nothing"
        example = next((one for one in names[code.co_argcount :] if one not in own), "out")
        raise TypeError(f"{name}() takes {by_place} by position; give all else by name, such as {example}=…")
    for word, value in [*zip(names, args), *own.items()]:
        check_value(f"{name}(): {word}", value, presets.get(word, ...), types[word])
        if word == "progress" and not (value is None or value is True or callable(value)):
            raise TypeError(f"{name}(): progress must be a function, or True for a bar of tqdm, not {value!r}")
    return own


def check_value(place: str, value: object, preset: object, of: str) -> None:
    """Checks the type of a value.

    Args:
        preset: the parameter's default; `...` if it is required
        of: the parameter's type, as written
    """
    if preset is False:
        if not isinstance(value, bool):
            raise TypeError(f"{place} must be True or False, not {value!r}")
    elif value is None and preset is ...:
        raise TypeError(f"{place} must be given, and is None")
    elif isinstance(value, (bytes, bytearray)) or (isinstance(value, bool) and not of.startswith("Progress")):
        raise TypeError(f"{place} must be {expected(of)}, not {value!r}")
    elif isinstance(value, Mapping) and not of.startswith(("ModelLike", "Recipe", "Experiment")):
        raise TypeError(f"{place} must be {expected(of)}, not a mapping")
    elif isinstance(value, (list, tuple)) and "Sequence" not in of and "Numbers" not in of:
        raise TypeError(f"{place} must be {expected(of)}, not a list")
    elif of == "Recipe" and isinstance(value, str) and "\n" in value.strip() and not value.startswith("{"):
        raise TypeError(f"{place} must be a path or a dictionary; of a text, it is yaml.safe_load(text)")
    elif isinstance(value, (set, frozenset, Iterator)):
        # A set has no order.
        raise TypeError(f"{place} must be a list, not {value!r}")


def expected(of: str) -> str:
    if of.startswith("ModelLike"):
        return "a path, a name of the hub or a model in memory"
    if of.startswith(("Recipe", "Experiment")):
        return "a path or a dictionary"
    return "a number" if of.startswith("float") else "a text or a path"


def near(word: str, names: Sequence[str]) -> str:
    from difflib import get_close_matches

    found = get_close_matches(word, names, n=1)
    return f"; did you mean {found[0]!r}?" if found else f"; it has {', '.join(names)}"
