"""Results of calls: dictionaries whose keys are attributes too."""

import contextlib
import keyword
import re
import types
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Union, cast, get_args, get_origin, get_type_hints


class Result(dict[str, Any]):
    """A dictionary whose keys are attributes too, in snake case: `result["bytesRead"]` is `result.bytes_read`.

    The attribute of an absent optional key gives None. The key `keys` is the attribute `keys_`, since a dictionary has a
    method of that name.
    """

    _optional: ClassVar[frozenset[str]] = frozenset()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            # Python's protocols, such as `copy`, look for such methods.
            for key, value in () if name.startswith("__") else self.items():
                if attribute_of(key) == name:
                    return value
            if name in map(attribute_of, self._optional):
                return None
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *map(attribute_of, self), *map(attribute_of, self._optional)]


@cache
def show_as_dictionaries() -> None:
    """Lets YAML, if it is installed, write results as dictionaries. Importing YAML takes as long as the engine's
    start."""
    with contextlib.suppress(ImportError):
        from yaml.representer import Representer, SafeRepresenter  # type: ignore[import-untyped,unused-ignore]

        for one in (SafeRepresenter, Representer):
            one.add_multi_representer(Result, SafeRepresenter.represent_dict)


def snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])[A-Z]", lambda found: f"_{found[0]}", name).lower()


@cache
def attribute_of(key: str) -> str:
    name = snake_case(key)
    return f"{name}_" if hasattr(dict, name) or keyword.iskeyword(name) else name


hints_of = cache(get_type_hints)


def typed(value: Any, of: Any) -> Any:
    """Returns a value of JSON as its type: objects as their classes, and whole measures as float."""
    if get_origin(of) in (Union, types.UnionType):
        of = next((one for one in get_args(of) if fits(value, one)), Any)
    inner = get_args(of)[-1] if get_origin(of) in (list, dict) else Any
    # Type checkers narrow this name, not the other.
    whole: object = value
    if isinstance(whole, list):
        return [typed(one, inner) for one in value]
    if isinstance(whole, dict):
        if get_origin(of) is dict:
            return {key: typed(one, inner) for key, one in value.items()}
        made = of if isinstance(of, type) and issubclass(of, Result) else Result
        return made({key: typed(one, hints_of(made).get(attribute_of(key), Any)) for key, one in value.items()})
    return float(value) if of is float and isinstance(value, int) else value


def fits(value: Any, of: Any) -> bool:
    """Returns true if a value can have this type of a union."""
    origin = get_origin(of) or of
    if origin is Literal:
        return value in get_args(of)
    if origin is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if not (isinstance(origin, type) and issubclass(origin, Result)):
        return origin is Any or isinstance(value, origin)
    if not isinstance(value, dict):
        return False
    hints = hints_of(origin)
    known = {attribute_of(key): one for key, one in cast("dict[str, Any]", value).items()}
    required = hints.keys() - map(attribute_of, origin._optional) - {"_optional"}
    literals = [name for name in known.keys() & hints.keys() if get_origin(hints[name]) is Literal]
    return required <= known.keys() <= hints.keys() and all(known[name] in get_args(hints[name]) for name in literals)
