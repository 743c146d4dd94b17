"""Outputs of `layerloom analyze`: the measurements of each expert, and its picture."""

import base64
import json
import os
import re
from typing import Any, cast

from .html import escape, framed
from .json_file import Value, fault_of, read_bytes, read_object
from .table import Table, columns

analysis_mismatch = fault_of("ANALYSIS_MISMATCH", separator="", remedy="; analyze the experts again")

analysis_columns = columns(
    ("text", "study name base rows_of"),
    ("number", "threshold"),
    ("text", "tensor"),
    ("integer", "layer"),
    ("text", "module"),
    ("integer", "rows parameters_per_row"),
    ("number", "mean_mav fraction_above"),
    ("integer", "non_finite_rows"),
)

record = re.compile(rb"<!-- layerloom analysis (\{[^<>]*\}) -->\s*$")
"""The end of an analysis's page."""

others = {"overlap.json", "top-overlap.json", "proposals.json"}


def experts_in(directory: str) -> list[str] | None:
    page = os.path.join(directory, "index.html")
    try:
        found = record.search(read_bytes(page))
        files: object = None if found is None else json.loads(found[1]).get("files")
    except (OSError, ValueError):
        return None
    if not isinstance(files, list):
        return None
    every = cast("list[object]", files)
    names = [name for name in every if isinstance(name, str) and name == os.path.basename(name)]
    return [name for name in names if name.endswith(".json") and name not in others]


class Analysis:
    """How an expert differs from its base. In a notebook it shows the picture that `layerloom analyze` drew.

    Raises:
        LayerloomError: ANALYSIS_MISMATCH
    """

    def __init__(self, file: str, study: str) -> None:
        self.file = file
        self.study = study
        self.record: Value = read_object(file, "the analysis of an expert", analysis_mismatch)
        self.name: str = self.record["name"].text()
        self.base: str = self.record["base"]["name"].text()
        self.rows: str = self.record["rows"].text()
        self.threshold: float = self.record["threshold"].number()
        self.mean_mav: float = self.record["meanMav"].number()
        inverse = self.record.get("inverseMav")
        self.inverse_mav: float | None = None if inverse is None else inverse.number()

    def add_to(self, table: Table) -> None:
        for tensor, found in self.record["tensors"].items():
            table.add(
                {
                    "study": self.study,
                    "name": self.name,
                    "base": self.base,
                    "rows_of": self.rows,
                    "threshold": self.threshold,
                    "tensor": tensor,
                    **found.row(analysis_columns, "module rows parameters_per_row non_finite_rows", "layer mean_mav fraction_above"),
                }
            )

    def __reduce__(self) -> tuple[Any, ...]:
        return Analysis, (self.file, self.study)

    def __repr__(self) -> str:
        return f"<analysis of {self.name} against {self.base}: mean MAV {self.mean_mav:.3g}>"

    def _repr_svg_(self) -> str:
        file = f"{self.file.removesuffix('.json')}.svg"
        try:
            return read_bytes(file).decode()
        except (OSError, ValueError) as error:
            raise analysis_mismatch(file, f"is not the picture of an analysis: {error}") from error

    def _repr_html_(self) -> str:
        # Shows the picture as an image, so that no script in a foreign file runs.
        source = base64.b64encode(self._repr_svg_().encode()).decode()
        picture = f'<img src="data:image/svg+xml;base64,{source}" alt="{escape(repr(self))}" style="max-width:100%;border-radius:6px">'
        return framed(picture)


def analyses_in(directory: str, study: str) -> list[Analysis]:
    return [Analysis(os.path.join(directory, name), study) for name in experts_in(directory) or []]


def table_of(analyses: list[Analysis]) -> Table:
    table = Table(analysis_columns)
    for analysis in analyses:
        analysis.add_to(table)
    return table


