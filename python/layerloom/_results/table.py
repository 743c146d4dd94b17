"""A table in memory: columns of known kinds, and data frames made from them."""

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any, Literal, TypeAlias

Kind: TypeAlias = Literal["text", "integer", "number", "boolean", "texts"]
"""The kind of a column's values besides None; `texts` are lists."""

Frames: TypeAlias = Literal["pandas", "polars", "arrow"]

modules: dict[Frames, str] = {"pandas": "pandas", "polars": "polars", "arrow": "pyarrow"}


def columns(*runs: tuple[Kind, str]) -> dict[str, Kind]:
    """Returns the kinds of columns by name, given the names of each kind's columns."""
    return {name: kind for kind, names in runs for name in names.split()}


class Table:
    """Rows with fixed columns; the columns exist even without rows."""

    def __init__(self, kinds: Mapping[str, Kind]) -> None:
        self.kinds = dict(kinds)
        self.columns: dict[str, list[Any]] = {name: [] for name in kinds}

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def add(self, row: Mapping[str, object]) -> None:
        for name, values in self.columns.items():
            values.append(row.get(name))

    def rows(self) -> list[dict[str, Any]]:
        return [dict(zip(self.columns, values)) for values in zip(*self.columns.values())]

    def frame(self, frames: Frames) -> Any:
        """Makes a data frame.

        Raises:
            ModuleNotFoundError: without the package.
        """
        return makers[frames](self)


def joined(tables: Iterable[Table]) -> Table:
    """Stacks tables with the same fixed columns. Any other column gets a kind that fits all tables."""
    several = list(tables)
    kinds: dict[str, Kind] = {}
    for table in several:
        for name, kind in table.kinds.items():
            kinds[name] = common(kinds.get(name, kind), kind)
    result = Table(kinds)
    for table in several:
        for name, kind in kinds.items():
            values = table.columns.get(name) or [None] * len(table)
            result.columns[name] += converted(values, kind)
    return result


def common(one: Kind, other: Kind) -> Kind:
    if one == other:
        return one
    return "number" if {one, other} == {"integer", "number"} else "text"


def converted(values: Iterable[Any], kind: Kind) -> list[Any]:
    if kind == "text":
        return [None if value is None else spelt(value) for value in values]
    return [None if value is None else float(value) for value in values] if kind == "number" else list(values)


def spelt(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def kind_of(values: Iterable[object]) -> Kind:
    """The kind of a column of settings: text unless all are numbers, or all are booleans."""
    types = {type(value) for value in values if value is not None}
    if types == {bool}:
        return "boolean"
    if types and types <= {int, float}:
        return "integer" if types == {int} else "number"
    return "text"


def installed(frames: Frames) -> Any:
    try:
        return import_module(modules[frames])
    except ModuleNotFoundError as missing:
        words = f"these frames need {modules[frames]}: pip install 'layerloom[{frames}]'; rows(NAME) of a study needs nothing"
        raise ModuleNotFoundError(words, name=missing.name) from missing


def pandas_of(table: Table) -> Any:
    pandas = installed("pandas")
    types = {"integer": "Int64", "number": "float64", "boolean": "boolean", "texts": "object"}
    complete = {"integer": "int64", "boolean": "bool"}

    def series(name: str, kind: Kind) -> Any:
        values = table.columns[name]
        if kind == "text":
            # pandas 3 has a text type, earlier versions use objects. Uses pandas' choice, even for an empty column.
            return pandas.Series(values, dtype=pandas.Series(["text"]).dtype)
        # pandas' usual types, or its nullable ones if a value is missing.
        return pandas.Series(values, dtype=types[kind] if None in values else complete.get(kind, types[kind]))

    return pandas.DataFrame({name: series(name, kind) for name, kind in table.kinds.items()})


def polars_of(table: Table) -> Any:
    polars = installed("polars")
    text = polars.String
    types = {"text": text, "integer": polars.Int64, "number": polars.Float64, "boolean": polars.Boolean, "texts": polars.List(text)}
    return polars.DataFrame(table.columns, schema={name: types[kind] for name, kind in table.kinds.items()})


def arrow_of(table: Table) -> Any:
    arrow = installed("arrow")
    text = arrow.string()
    types = {"text": text, "integer": arrow.int64(), "number": arrow.float64(), "boolean": arrow.bool_(), "texts": arrow.list_(text)}
    return arrow.table(table.columns, schema=arrow.schema([(name, types[kind]) for name, kind in table.kinds.items()]))


makers: dict[Frames, Callable[[Table], Any]] = {"pandas": pandas_of, "polars": polars_of, "arrow": arrow_of}
