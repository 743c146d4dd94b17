"""Studies: the results of one or several directories, as data frames."""

from __future__ import annotations

import os
from collections import Counter
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar, overload

from .._errors import named
from .._merged import path_text
from .analysis import Analysis, analyses_in, analysis_columns, experts_in, table_of
from .columns import merge_columns, reference_columns, sample_columns, score_columns
from .experiment import Experiment, record_in
from .merge import Merge
from .summary import summary_html, summary_text
from .table import Frames, Table, joined, modules

if TYPE_CHECKING:
    import pandas
    import polars

Frame = TypeVar("Frame")

TableName: TypeAlias = Literal["merges", "references", "scores", "samples", "analyses"]


class Study(Generic[Frame]):
    """Results of experiments and analyses. Each table is read once, on first use.

    The tables are data frames: `merges`, `references`, `scores`, `samples`, `analyses`. In a notebook it
    shows a summary.
    """

    def __init__(self, directories: list[str], frames: Frames | None) -> None:
        self.directories = directories
        self.frames: Frames | None = frames
        self._tables: dict[str, Table] = {}
        self.experiments: list[Experiment] = []
        self.found: list[Analysis] = []
        for directory, name in zip(directories, names_of(directories)):
            if os.path.lexists(os.path.join(directory, "experiment.json")) or experts_in(directory) is None:
                # Raises the error if there is no experiment.
                record_in(directory)
                self.experiments.append(Experiment(directory, name))
            else:
                self.found += analyses_in(directory, name)

    @property
    def merges(self) -> Frame:
        """A row for each merge, with its settings as columns."""
        return self.frame("merges")

    @property
    def references(self) -> Frame:
        """A row for the base and for each unmerged expert."""
        return self.frame("references")

    @property
    def scores(self) -> Frame:
        """A row for each model, task, metric and filter: the results that `layerloom table` shows."""
        return self.frame("scores")

    @property
    def samples(self) -> Frame:
        """A row for each model, task, problem, metric and filter, with the response."""
        return self.frame("samples")

    @property
    def analyses(self) -> Frame:
        """A row for each tensor of each analysed expert."""
        return self.frame("analyses")

    def frame(self, name: TableName) -> Frame:
        """A new data frame of a table."""
        made: Frame = self.table(name).frame(self.frames or first_installed())
        return made

    def rows(self, name: TableName) -> list[dict[str, Any]]:
        """The rows of a table as dictionaries, without any library."""
        return self.table(name).rows()

    def to_pandas(self, name: TableName) -> pandas.DataFrame:
        made: pandas.DataFrame = self.table(name).frame("pandas")
        return made

    def to_polars(self, name: TableName) -> polars.DataFrame:
        made: polars.DataFrame = self.table(name).frame("polars")
        return made

    def to_arrow(self, name: TableName) -> Any:
        """The table as a `pyarrow.Table`."""
        return self.table(name).frame("arrow")

    def table(self, name: TableName) -> Table:
        if name not in columns_of:
            raise KeyError(f"{name} is no table; these are: {', '.join(columns_of)}")
        if name not in self._tables:
            made = [table_of(self.found)] if name == "analyses" else [getattr(one, name) for one in self.experiments]
            self._tables[name] = joined([Table(columns_of[name]), *made])
        return self._tables[name]

    def merge(self, name: str) -> Merge:
        """A merge by its name, which shows its layers in a notebook.

        Raises:
            KeyError: without such a merge
            LayerloomError: READ_FAILED if it is not on this machine
        """
        for row in self.rows("merges"):
            if row["name"] == name:
                scores = [one for one in self.rows("scores") if one["model"] == name and one["study"] == row["study"]]
                return Merge(row["path"], name, scores)
        raise KeyError(f"no merge is named {name!r}")

    def analysis(self, name: str) -> Analysis:
        """The analysis of an expert by its name, which shows its picture in a notebook."""
        for analysis in self.found:
            if analysis.name == name:
                return analysis
        raise KeyError(f"no analysed expert is named {name!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        return Study, (self.directories, self.frames)

    def __repr__(self) -> str:
        return summary_text(self.experiments, self.found)

    def _repr_html_(self) -> str:
        return summary_html(self.experiments, self.found)


columns_of = {
    "merges": merge_columns,
    "references": reference_columns,
    "scores": score_columns,
    "samples": sample_columns,
    "analyses": analysis_columns,
}


def first_installed() -> Frames:
    has_pandas = find_spec("pandas") is not None or find_spec("polars") is None
    return "pandas" if has_pandas else "polars"


def names_of(directories: list[str]) -> list[str]:
    """The names of studies: those of their directories, or whole paths if names collide."""
    names = [os.path.basename(directory) for directory in directories]
    counts = Counter(names)
    return [name if counts[name] == 1 else directory for name, directory in zip(names, directories)]


Path: TypeAlias = "str | os.PathLike[str]"


@overload
def open(*directories: Path, frames: Literal["pandas"]) -> Study[pandas.DataFrame]: ...
@overload
def open(*directories: Path, frames: Literal["polars"]) -> Study[polars.DataFrame]: ...
@overload
def open(*directories: Path, frames: Literal["arrow"] | None = None) -> Study[Any]: ...
def open(*directories: Path, frames: Frames | None = None) -> Study[Any]:
    """Opens the results of experiments (`layerloom batch`, `evaluate`, `search`) and of analyses (`layerloom
    analyze`).

    Args:
        directories: one or several; the column `study` of all tables names each row's directory
        frames: the type of tables; default: frames of pandas, or of polars if pandas is not installed

    Raises:
        LayerloomError: EXPERIMENT_MISSING, EXPERIMENT_INVALID, ANALYSIS_MISMATCH; RESULTS_INVALID when results are read
    """
    if not directories:
        raise TypeError("open() needs the directory of an experiment or of an analysis")
    if frames not in (None, *modules):
        raise ValueError(f"open(): frames must be one of {', '.join(modules)}, not {frames!r}")
    with named("open()"):
        return Study([os.path.abspath(path_text(directory)) for directory in directories], frames)
