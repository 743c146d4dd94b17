"""An experiment's directory: `experiment.json`, and the result files that it names."""

import json
import os
import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from .._errors import LayerloomError
from .columns import fixed, merge_columns, reference_columns, sample_columns, score_columns
from .json_file import Value, fault_of, read_object
from .table import Kind, Table, kind_of, spelt

experiment_invalid = fault_of("EXPERIMENT_INVALID")
results_invalid = fault_of("RESULTS_INVALID", remedy="; remove it and evaluate again")


class Experiment:
    """Reads an experiment, and each of its tables on first use.

    Raises:
        LayerloomError: EXPERIMENT_MISSING, EXPERIMENT_INVALID; RESULTS_INVALID when results are read.
    """

    def __init__(self, directory: str, name: str) -> None:
        self.directory = directory
        self.name = name
        self.record = read_object(record_in(directory), "the record of an experiment", experiment_invalid)
        self.results: dict[str, Value] = {}
        self.texts: dict[str, Value] = {}

    @cached_property
    def models(self) -> list[tuple[dict[str, Any], dict[str, Any], Value]]:
        """The columns, settings and record entry of each model: references first, then merges."""
        return [
            *(({"role": one["role"].text(), **self.named(one, "model")}, {}, one) for one in self.record["references"]),
            *(self.merge_of(one) for one in self.record["merges"]),
        ]

    def named(self, entry: Value, column: str) -> dict[str, Any]:
        return {"study": self.name, column: entry["name"].text()}

    def merge_of(self, entry: Value) -> tuple[dict[str, Any], dict[str, Any], Value]:
        name, language = entry["name"].text(), entry["language"].text()
        task, expert = (None if (one := entry.get(key)) is None else one.text() for key in ("task", "languageExpert"))
        rest = name[len(language) + 1 :]
        pairs = [f"{pair}/" for pair in (f"{task}+{expert}", task, expert) if pair is not None]
        variant = rest[len(next((pair for pair in pairs if rest.startswith(pair)), "")) :]
        columns = {
            **self.named(entry, "model"),
            "role": "merge",
            "language": language,
            "task_expert": task,
            "language_expert": expert,
            "method": entry["method"].text(),
            "entry": variant.split("/", 1)[0],
            "variant": variant,
        }
        return columns, {column_of(key): setting(value) for key, value in entry["configuration"].items()}, entry

    @cached_property
    def settings(self) -> dict[str, Kind]:
        values: dict[str, list[object]] = {}
        for _, settings, _ in self.models:
            for name, value in settings.items():
                if value is not None:
                    values.setdefault(name, []).append(value)
        return {name: kind_of(found) for name, found in values.items()}

    def settings_row(self, settings: dict[str, Any]) -> dict[str, Any]:
        return {
            name: spelt(settings[name]) if kind == "text" else settings[name]
            for name, kind in self.settings.items()
            if settings.get(name) is not None
        }

    @cached_property
    def merges(self) -> Table:
        table = Table({**merge_columns, **self.settings})
        for columns, settings, entry in map(self.merge_of, self.record["merges"]):
            error, identity = entry.get("error"), entry.get("weights")
            table.add(
                {
                    **columns,
                    "name": columns["model"],
                    **entry.row(merge_columns, "state bytes_read bytes_written seconds"),
                    "path": os.path.join(self.directory, entry["path"].text()),
                    "identity": None if identity is None else identity.text(),
                    "shards_shared": entry["shards"]["shared"].integer(),
                    "shards_new": entry["shards"]["new"].integer(),
                    "error_code": None if error is None else error["code"].text(),
                    "error_message": None if error is None else error["message"].text(),
                    **self.settings_row(settings),
                }
            )
        return table

    @cached_property
    def references(self) -> Table:
        table = Table(reference_columns)
        for entry in self.record["references"]:
            languages = entry.get("expertIn") or entry["languages"]
            # The text is NAME=PATH if the experiment names the model.
            name, path = entry["name"].text(), entry["model"].text()
            table.add(
                {
                    **self.named(entry, "name"),
                    "role": entry["role"].text(),
                    "languages": languages.texts(),
                    "path": path.removeprefix(f"{name}="),
                }
            )
        return table

    def scored(self) -> Iterator[tuple[dict[str, Any], dict[str, Any], str, Value, Value]]:
        for columns, settings, entry in self.models:
            scores = entry.get("scores")
            for task, score in () if scores is None else scores.items():
                yield columns, settings, task, score, self.result_of(score)

    def result_of(self, score: Value) -> Value:
        return self.read(names_of(score)[0], self.results)

    def read(self, name: str, kept: dict[str, Value] | None = None) -> Value:
        found = None if kept is None else kept.get(name)
        if found is None:
            file = os.path.join(self.directory, "evaluations", name)
            found = read_object(file, "a result of `layerloom evaluate`", results_invalid)
            if kept is not None:
                kept[name] = found
        return found

    @cached_property
    def scores(self) -> Table:
        table = Table({**score_columns, **self.settings})
        for columns, settings, task, score, result in self.scored():
            names = names_of(score)
            # The record has the means over several answers to each problem.
            metrics = (score if len(names) > 1 else result)["metrics"]
            headline = score.get("headline")
            rows = result.get("rows")
            first, end = (None, None) if rows is None else [one.integer() for one in rows.pair()]
            for key, value in metrics.items():
                metric, _, chosen = key.partition(",")
                if metric == "alias" or metric.endswith("_stderr"):
                    continue
                error = metrics.get(f"{metric}_stderr,{chosen}" if chosen else f"{metric}_stderr")
                better = result["higherIsBetter"].get(metric)
                table.add(
                    {
                        **columns,
                        **result.row(score_columns, "task_version n fewshot seed backend source started seconds", "max_tokens"),
                        "task": task,
                        "metric": metric,
                        "filter": chosen or None,
                        "headline": None if headline is None else headline.text() == key,
                        "value": None if value.value is None else value.number(),
                        "stderr": None if error is None else error.number(),
                        "higher_is_better": None if better is None else better.boolean(),
                        "first_row": first,
                        "end_row": end,
                        "harness_version": result["harness"]["version"].text(),
                        "sampling": None if (drawn := result.get("sampling")) is None else drawn.text(),
                        "answers": len(names),
                        "result": os.path.join(self.directory, "evaluations", names[0]),
                        **self.settings_row(settings),
                    }
                )
        return table

    @cached_property
    def samples(self) -> Table:
        table = Table(sample_columns)
        for columns, _, task, score, first in self.scored():
            for number, name in enumerate(names_of(score)):
                for sample in self.samples_of(name, first if number == 0 else self.read(name)):
                    table.add({**columns, "task": task, "sample": number, **sample})
        return table

    def samples_of(self, name: str, result: Value) -> Iterator[dict[str, Any]]:
        texts = result.get("texts")
        known = None if texts is None else self.read(os.path.basename(texts.text()), self.texts)
        for problem in self.read(f"{name.removesuffix('.json')}.problems.json"):
            document, answers = problem["document"].text(), problem["answers"]
            text = None if known is None else known.get(document)
            same = {
                "problem": problem["id"].integer(),
                **problem.row(sample_columns, "document response"),
                "question": None if text is None else text["question"].text(),
                "expected": None if text is None else text["target"].text(),
            }
            for key, score in problem["scores"].items():
                metric, _, chosen = key.partition(",")
                answer = answers.get(chosen)
                value, weight = (score, None) if not isinstance(score.value, list) else score.pair()
                yield {
                    **same,
                    "metric": metric,
                    "filter": chosen or None,
                    "score": value.number(),
                    "weight": None if weight is None else weight.number(),
                    "answer": None if answer is None else answer.text(),
                }


def record_in(directory: str) -> str:
    """The path of an experiment's record.

    Raises:
        LayerloomError: EXPERIMENT_MISSING
    """
    file = os.path.join(directory, "experiment.json")
    if not os.path.lexists(file):
        is_merge = os.path.lexists(os.path.join(directory, "layerloom.json"))
        remedy = (
            "it is a single merge: layerloom.Merge shows it"
            if is_merge
            else f"`layerloom.run_experiment(…, out={directory!r})` makes one"
        )
        details = {"directory": directory, "reason": "has no experiment.json", "remedy": remedy}
        raise LayerloomError("EXPERIMENT_MISSING", f"{directory} has no experiment.json; {remedy}", details, 3)
    return file


def names_of(score: Value) -> list[str]:
    """Returns the names of a score's results, one for each answer; all lie in `evaluations` whatever the record says."""
    samples = score.get("samples")
    results = [score["result"]] if samples is None else list(samples)
    if not results:
        raise score["samples"].wrong("a result")
    return [result.text().rsplit("/", 1)[-1] for result in results]


def column_of(key: str) -> str:
    name = re.sub(r"(?<=[a-z0-9])([A-Z])", lambda found: f"_{found[1].lower()}", key)
    return f"configuration_{name}" if name in fixed else name


def setting(value: Value) -> Any:
    found = value.value
    if found is None or isinstance(found, bool):
        return found
    if isinstance(found, str):
        return value.text()
    if isinstance(found, (int, float)):
        number = value.number()
        return int(number) if isinstance(found, int) and number.is_integer() and abs(number) <= 2**53 else number
    if isinstance(found, list):
        each = list(value)
        if not any(one.value is None or isinstance(one.value, (list, dict)) for one in each):
            return ",".join(spelt(setting(one)) for one in each)
    return json.dumps(found, ensure_ascii=True)


