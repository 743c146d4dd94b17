"""A study's scores as runs of an experiment tracker: a run for each model, with its settings and scores."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from .study import Study


@dataclass
class Run:
    """A model that has a score."""

    study: str
    model: str
    role: str
    parameters: dict[str, Any]
    """Experts, method and settings, as in the frame of scores."""
    scores: dict[str, float] = field(default_factory=dict[str, float])
    """Scores by `TASK/METRIC/FILTER`; standard errors by `TASK/METRIC_stderr/FILTER`."""
    id: str = ""
    """An id that stays the same whenever the model of this directory is logged."""


identifying = ("language", "task_expert", "language_expert", "method", "entry", "variant")


def runs_of(study: Study[Any]) -> Iterator[Run]:
    """The models of a study that have scores, in its order.

    Raises:
        LayerloomError: RESULTS_INVALID
    """
    for experiment in study.experiments:
        scores: dict[str, dict[str, float]] = {}
        for row in experiment.scores.rows():
            of = scores.setdefault(row["model"], {})
            for name, value in ((row["metric"], row["value"]), (f"{row['metric']}_stderr", row["stderr"])):
                if value is not None:
                    of["/".join(part for part in (row["task"], name, row["filter"]) if part)] = value
        for columns, settings, _ in experiment.models:
            model = columns["model"]
            if scores.get(model):
                known = {name: columns.get(name) for name in identifying} | experiment.settings_row(settings)
                parameters = {name: value for name, value in known.items() if value is not None}
                key = hashlib.sha256(f"{experiment.directory}\n{model}".encode()).hexdigest()[:16]
                yield Run(experiment.name, model, columns["role"], parameters, scores[model], key)


def tracker(name: str) -> Any:
    """Imports the package of a tracker.

    Raises:
        ModuleNotFoundError: says which package to install.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as missing:
        if missing.name != name:
            raise
        raise ModuleNotFoundError(f"log_{name} needs {name}: pip install 'layerloom[{name}]'", name=name) from missing


def plain_key(name: str) -> str:
    return re.sub(r"[^\w./ -]", "_", name, flags=re.ASCII)
