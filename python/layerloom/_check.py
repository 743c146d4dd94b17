"""Checks a call's arguments before the engine starts: their names, and impossible types."""

import re
from collections.abc import Iterator, Mapping, Sequence
from inspect import iscoroutinefunction
from typing import Any, TypedDict

from ._plain import dtype_of, number_of
from ._spellings import shown_spellings


class _Parameter(TypedDict):
    name: str
    type: str


class Parameter(_Parameter, total=False):
    """A parameter in `_commands.json`, as scripts/python-parameters.mjs describes it."""

    default: Any
    long: str
    several: bool
    model: str


class _Command(TypedDict):
    command: str
    words: str
    parameters: list[Parameter]
    returns: list[tuple[str, str]]
    """Types of results by the parameter that is given; the last type is for none."""


class Command(_Command, total=False):
    """A function in `_commands.json`."""

    unless: list[str]
    """Parameters that make the function write files; without them it returns a checkpoint in memory."""


PROGRESS: Parameter = {"name": "progress", "type": "Progress", "default": None, "long": ""}


def default_of(parameter: Parameter) -> Any:
    default = parameter.get("default")
    return () if default == [] else default


def values_of(name: str, command: Command, args: Sequence[Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the values of all parameters. Raises TypeError, which names the parameter, if a call is certainly wrong."""
    parameters = {one["name"]: one for one in [*command["parameters"], PROGRESS]}
    by_place = [word for word, parameter in parameters.items() if "long" not in parameter]
    own: dict[str, Any] = {}
    for word, value in given.items():
        shown = word if word in parameters else shown_spellings.get(word, word)
        if shown not in parameters:
            raise TypeError(f"{name}() has no parameter {word!r}{near(word, [*parameters])}")
        if shown in own:
            raise TypeError(f"{name}(): {shown} is given twice, in two spellings")
        own[shown] = value
    if len(args) > len(by_place):
        places = ", ".join(by_place) or "nothing"
        example = next((one for one in parameters if one not in by_place and one not in own), "out")
        raise TypeError(f"{name}() takes {places} by position; give all else by name, such as {example}=…")
    placed = dict(zip(by_place, args))
    for word in placed.keys() & own.keys():
        raise TypeError(f"{name}() got multiple values for argument {word!r}")
    values = {**placed, **own}
    for word, value in values.items():
        if parameters[word]["type"] == "bool" and isinstance(found := number_of(value), bool):
            values[word] = value = found
        check_value(f"{name}(): {word}", value, parameters[word])
        if word == "progress" and (iscoroutinefunction(value) or not (value is None or isinstance(value, bool) or callable(value))):
            raise TypeError(f"{name}(): progress must be a function, or True for a bar of tqdm, not {value!r}")
    for word, parameter in parameters.items():
        if word not in values and "default" not in parameter:
            kind = "positional" if word in by_place else "keyword-only"
            raise TypeError(f"{name}() missing 1 required {kind} argument: {word!r}")
    return {word: values.get(word, default_of(parameter)) for word, parameter in parameters.items()}


def check_value(place: str, value: object, parameter: Parameter) -> None:
    of = parameter["type"]
    if of == "bool":
        if not isinstance(value, bool):
            raise TypeError(f"{place} must be True or False, not {value!r}")
    elif "Dtype" not in of and dtype_of(value) is not None:
        raise TypeError(f"{place} must be {expected(of)}, not a dtype")
    elif value is None and "default" not in parameter:
        raise TypeError(f"{place} must be given, and is None")
    elif isinstance(value, (bytes, bytearray)) or (isinstance(value, bool) and not of.startswith("Progress")):
        raise TypeError(f"{place} must be {expected(of)}, not {value!r}")
    elif isinstance(value, Mapping) and not of.startswith(("ModelLike", "Recipe", "Experiment", "Settings")):
        raise TypeError(f"{place} must be {expected(of)}, not a mapping")
    elif isinstance(value, (list, tuple)) and "Sequence" not in of and not of.startswith(("Numbers", "Layers", "Settings")):
        raise TypeError(f"{place} must be {expected(of)}, not a list")
    elif of == "Recipe" and isinstance(value, str) and "\n" in value.strip() and not value.startswith("{"):
        raise TypeError(f"{place} must be a path or a dictionary; of a text, it is yaml.safe_load(text)")
    elif number_of(value) is not None and not re.search("int|float|Numbers|Layers|ModelLike|Progress", of):
        raise TypeError(f"{place} must be {expected(of)}, not {value!r}")
    elif isinstance(value, (set, frozenset, Iterator)):
        # Refused, because a set has no order.
        raise TypeError(f"{place} must be a list, not {value!r}")


def expected(of: str) -> str:
    if of.startswith("ModelLike"):
        return "a path, a name of the hub or a model in memory"
    if of.startswith(("Recipe", "Experiment")):
        return "a path or a dictionary"
    if of.startswith("Settings"):
        return "a dictionary, or texts KEY=VALUE"
    if of.startswith(("Numbers", "Layers")):
        return "numbers, or a text of them"
    return "a number" if of.startswith(("int", "float")) else "a text or a path"


def near(word: str, names: Sequence[str]) -> str:
    from difflib import get_close_matches

    found = get_close_matches(word, names, n=1)
    return f"; did you mean {found[0]!r}?" if found else f"; it has {', '.join(names)}"
