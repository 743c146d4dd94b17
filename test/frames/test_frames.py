"""Frames equal their JSON, read here by plain loops; Parquet equals the tables' JSON."""

import json
import math
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

import duckdb
import layerloom
import pandas
import polars
import pyarrow
import pyarrow.parquet

results = Path(os.environ["LAYERLOOM_RESULTS"])
record: dict[str, Any] = json.loads((results / "study/experiment.json").read_text())
models: list[dict[str, Any]] = record["references"] + record["merges"]


def result(score: dict[str, Any], ending: str = ".json") -> Any:
    return json.loads((results / "study" / score["result"].replace(".json", ending)).read_text())


def values(rows: list[dict[str, Any]], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in rows]


def rows_of(frame: Any) -> list[dict[str, Any]]:
    if isinstance(frame, pandas.DataFrame):
        missing = frame.map(lambda value: not isinstance(value, list) and pandas.isna(value))
        rows = frame.astype(object).mask(missing, None).to_dict("records")
        return [{name: None if isinstance(value, float) and math.isnan(value) else value for name, value in row.items()} for row in rows]
    return frame.to_dicts() if isinstance(frame, polars.DataFrame) else frame.to_pylist()


class Frames(unittest.TestCase):
    def setUp(self) -> None:
        self.study = layerloom.open(results / "study")

    def test_merges_are_those_of_the_record_with_their_settings(self) -> None:
        expected = [
            (
                one["name"], one["language"], one["task"], one["languageExpert"], one["method"], one["state"], one["weights"],
                one["seconds"], one["shards"]["new"], one["configuration"].get("bottom"),
                one["configuration"].get("bottomTransition"), one["configuration"].get("density"), one["configuration"].get("scaled"),
            )
            for one in record["merges"]
        ]  # fmt: skip
        self.assertEqual(len(expected), 25)
        names = (
            "name", "language", "task_expert", "language_expert", "method", "state", "identity", "seconds", "shards_new",
            "bottom", "bottom_transition", "density", "scaled",
        )  # fmt: skip
        self.assertEqual(values(self.study.rows("merges"), *names), expected)
        weights = {row["name"]: row["weights"] for row in self.study.rows("merges")}
        self.assertEqual(weights["swahili/math-1+swh-1/default"], "1,1")
        self.assertEqual(weights["swahili/math-1+swh-1/soup/magnitude"], "magnitude")
        for row in self.study.rows("merges"):
            self.assertTrue(Path(row["path"], "layerloom.json").is_file(), row["path"])

    def test_references_are_those_of_the_record(self) -> None:
        expected = [(one["name"], one["role"], one.get("expertIn") or one["languages"]) for one in record["references"]]
        found = self.study.rows("references")
        self.assertEqual(values(found, "name", "role", "languages"), expected)
        self.assertTrue(all(Path(row["path"]).is_dir() for row in found))

    def test_scores_are_the_metrics_of_the_results_that_the_record_names(self) -> None:
        expected = [
            (model["name"], task, *key.split(","), value, metrics.get(key.replace(",", "_stderr,")))
            for model in models
            for task, score in model["scores"].items()
            for metrics in [result(score)["metrics"]]
            for key, value in metrics.items()
            if "_stderr" not in key
        ]
        self.assertEqual(len(expected), 30 * 5)
        self.assertEqual(values(self.study.rows("scores"), "model", "task", "metric", "filter", "value", "stderr"), expected)

    def test_headline_scores_are_those_that_the_tables_show(self) -> None:
        tables = json.loads((results / "tables.json").read_text())["tables"]
        (table,) = [one for one in tables if one["id"] == "models"]
        shown = {
            (row["id"], column["id"]): cell["value"]
            for row in table["rows"]
            for column, cell in zip(table["columns"], row["cells"])
            if cell is not None
        }
        found = {
            (row["model"], row["task"]): row["value"] * (100 if row["metric"] == "exact_match" else 1)
            for row in self.study.rows("scores")
            if row["headline"]
        }
        self.assertEqual(len(shown), 30 * 3)
        self.assertEqual(found.keys(), shown.keys())
        for key, value in shown.items():
            self.assertAlmostEqual(found[key], value, 9)

    def test_samples_are_the_problems_with_responses_and_texts(self) -> None:
        expected: list[tuple[Any, ...]] = []
        for model in models:
            for task, score in model["scores"].items():
                texts = result(score)["texts"]
                known = json.loads((results / "study/evaluations" / texts).read_text()) if texts else {}
                for problem in result(score, ".problems.json"):
                    text = known.get(problem["document"], {"question": None, "target": None})
                    for key, value in problem["scores"].items():
                        both = value if isinstance(value, list) else [value, None]
                        answer = problem["answers"].get(key.split(",")[1])
                        expected.append((model["name"], task, problem["id"], key, *both, answer, problem["response"], *text.values()))
        found = self.study.rows("samples")
        self.assertEqual(len(found), 30 * 20 * 5)
        self.assertEqual(
            [
                (row["model"], row["task"], row["problem"], f"{row['metric']},{row['filter']}", row["score"], row["weight"],
                 row["answer"], row["response"], row["question"], row["expected"])
                for row in found
            ],
            expected,
        )  # fmt: skip

    def test_the_mean_of_samples_is_the_score(self) -> None:
        samples = self.study.samples
        of = ["model", "task", "metric", "filter"]
        means = samples[samples["metric"] == "exact_match"].groupby(of)["score"].mean()
        scores = self.study.scores.set_index(of)["value"]
        pandas.testing.assert_series_equal(means, scores[means.index], check_names=False)

    def test_several_answers_are_one_score_and_a_sample_each(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            (base,) = [one for one in record["references"] if one["role"] == "base"]
            score = base["scores"]["mgsm_direct_sw"]
            (Path(directory) / "evaluations").mkdir()
            names, metric = ["evaluations/a.json", "evaluations/b.json"], "exact_match,flexible-extract"
            problems = result(score, ".problems.json")
            for right, name in enumerate(names):
                file = {**result(score), "sampling": "temperature=0.6", "texts": None, "metrics": {metric: right}}
                (Path(directory) / name).write_text(json.dumps(file))
                answered = [{**one, "scores": {metric: right}} for one in problems]
                (Path(directory) / name.replace(".json", ".problems.json")).write_text(json.dumps(answered))
            joined = {**score, "metrics": {metric: 0.5, metric.replace(",", "_stderr,"): None}, "result": names[0], "samples": names}
            changed = {**record, "merges": [], "references": [{**base, "scores": {"mgsm_direct_sw": joined}}]}
            (Path(directory) / "experiment.json").write_text(json.dumps(changed))
            study = layerloom.open(directory)
            scores = values(study.rows("scores"), "value", "stderr", "sampling", "answers", "n")
            self.assertEqual(scores, [(0.5, None, "temperature=0.6", 2, 20)])
            samples = values(study.rows("samples"), "sample", "problem", "score")
            expected = [(right, one["id"], float(right)) for right in (0, 1) for one in problems]
            self.assertEqual(samples, expected)
            joined["samples"] = []
            (Path(directory) / "experiment.json").write_text(json.dumps(changed))
            with self.assertRaisesRegex(layerloom.LayerloomError, "samples: expected a result"):
                layerloom.open(directory).rows("scores")

    def test_analyses_are_the_files_of_experts(self) -> None:
        expected = [
            (name, tensor, one["layer"], one["module"], one["rows"], one["meanMav"], one["fractionAbove"])
            for name in ("math-1", "swh-1")
            for tensor, one in json.loads((results / f"analysis/{name}.json").read_text())["tensors"].items()
        ]
        found = layerloom.open(results / "analysis").rows("analyses")
        names = ("name", "tensor", "layer", "module", "rows", "mean_mav", "fraction_above")
        self.assertEqual(values(found, *names), expected)

    def test_frames_of_every_kind_have_the_same_rows_and_types(self) -> None:
        kinds = {
            "text": (polars.String, pyarrow.string()),
            "integer": (polars.Int64, pyarrow.int64()),
            "number": (polars.Float64, pyarrow.float64()),
            "boolean": (polars.Boolean, pyarrow.bool_()),
            "texts": (polars.List(polars.String), pyarrow.list_(pyarrow.string())),
        }
        study = layerloom.open(results / "study", results / "analysis")
        for name in ("merges", "references", "scores", "samples", "analyses"):
            with self.subTest(name):
                rows = study.rows(name)
                self.assertGreater(len(rows), 0)
                for frame in (study.to_pandas(name), study.to_polars(name), study.to_arrow(name)):
                    self.assertEqual(rows_of(frame), rows)
                for column, kind in study.table(name).kinds.items():
                    self.assertEqual(study.to_polars(name).schema[column], kinds[kind][0])
                    self.assertEqual(study.to_arrow(name).schema.field(column).type, kinds[kind][1])

    def test_frames_without_rows_have_the_same_columns(self) -> None:
        analysis = layerloom.open(results / "analysis")
        for name in ("merges", "references", "scores", "samples"):
            for frame in (analysis.to_pandas(name), analysis.to_polars(name), analysis.to_arrow(name)):
                self.assertEqual(len(frame), 0)
            columns = list(analysis.to_pandas(name).columns)
            self.assertEqual(columns, list(self.study.to_pandas(name).columns)[: len(columns)])

    def test_attributes_are_frames_of_the_chosen_kind(self) -> None:
        for frames, kind in (("pandas", pandas.DataFrame), ("polars", polars.DataFrame), ("arrow", pyarrow.Table)):
            self.assertIsInstance(layerloom.open(results / "study", frames=frames).merges, kind)
        self.assertIsInstance(self.study.merges, pandas.DataFrame)
        self.assertIsNot(self.study.merges, self.study.merges)
        self.assertEqual(str(self.study.merges["bottom"].dtype), "Int64")
        self.assertEqual(str(self.study.merges["shards_new"].dtype), "int64")

    def test_settings_are_columns_of_their_types_and_of_names_of_their_own(self) -> None:
        changed = json.loads(json.dumps(record))
        one, two = changed["merges"][:2]
        one["configuration"] = {"seed": 7, "bottomTransition": 2, "weights": [1, 3], "parts": [{"model": "math-1"}], "density": 1}
        two["configuration"] = {"density": 0.5, "scaled": True}
        changed["merges"], changed["references"] = [one, two], []
        for score in one["scores"].values():
            del score["headline"]
        Path("settings").mkdir()
        Path("settings/experiment.json").write_text(json.dumps(changed))
        Path("settings/evaluations").symlink_to(results / "study/evaluations")
        study = layerloom.open("settings")
        names = ("configuration_seed", "bottom_transition", "weights", "parts", "density", "scaled")
        expected = [(7, 2, "1,3", '[{"model": "math-1"}]', 1.0, None), (None, None, None, None, 0.5, True)]
        self.assertEqual(values(study.rows("merges"), *names), expected)
        self.assertEqual([study.table("merges").kinds[name] for name in names], ["integer", "integer", "text", "text", "number", "boolean"])
        # Records of earlier versions do not say which score judges a task.
        self.assertEqual({row["headline"] for row in study.rows("scores") if row["model"] == one["name"]}, {None})

    def test_several_studies_are_told_apart(self) -> None:
        other = results / "other/study"
        other.parent.mkdir(exist_ok=True)
        if not other.exists():
            other.symlink_to(results / "study")
        both = layerloom.open(results / "study", other)
        self.assertEqual(both.merges["study"].value_counts().to_dict(), {str(results / "study"): 25, str(other): 25})
        self.assertEqual(len(both.scores), 2 * len(self.study.scores))

    def test_rows_need_the_standard_library_alone(self) -> None:
        program = (
            "import sys, layerloom\n"
            "print(len(layerloom.open(sys.argv[1]).rows('scores')))\n"
            "try: layerloom.open(sys.argv[1]).merges\n"
            "except ModuleNotFoundError as missing: print(missing)\n"
        )
        words = [sys.executable, "-S", "-c", program, str(results / "study")]
        count, missing = subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines()
        self.assertEqual(count, "150")
        self.assertIn("pip install 'layerloom[pandas]'", missing)
        self.assertIn("rows(NAME)", missing)

    def test_frames_are_of_polars_where_pandas_is_not_installed(self) -> None:
        site = Path("site")
        site.mkdir()
        packages = Path(polars.__file__).parents[1]
        for package in packages.glob("*polars*"):
            (site / package.name).symlink_to(package)
        program = "import sys, layerloom; print(type(layerloom.open(sys.argv[1]).merges))"
        path = os.pathsep.join([os.environ["PYTHONPATH"], str(site.absolute())])
        words = [sys.executable, "-S", "-c", program, str(results / "study")]
        printed = subprocess.run(words, check=True, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
        self.assertIn("polars", printed.stdout)

    def test_importing_layerloom_loads_no_module_of_results(self) -> None:
        program = "import sys, layerloom; print([name for name in sys.modules if name.startswith('layerloom')])"
        words = [sys.executable, "-c", program]
        self.assertEqual(subprocess.run(words, check=True, capture_output=True, text=True).stdout, "['layerloom']\n")
        program = "import sys, layerloom; layerloom.open; print({'pandas', 'polars', 'pyarrow', 'mlflow', 'wandb'} & {*sys.modules})"
        self.assertEqual(subprocess.run([*words[:2], program], check=True, capture_output=True, text=True).stdout, "set()\n")


class Parquet(unittest.TestCase):
    def test_is_the_tables_as_others_read_them(self) -> None:
        file = str(results / "tables.parquet")
        expected: list[tuple[Any, ...]] = []
        for table in json.loads((results / "tables.json").read_text())["tables"]:
            for row in table["rows"]:
                for column, cell in zip(table["columns"], row["cells"]):
                    if cell is not None:
                        text = isinstance(cell["value"], str)
                        low, high = cell.get("interval", (None, None))
                        expected.append(
                            (table["id"], row["id"], column["id"], None if text else cell["value"], cell["value"] if text else None,
                             cell.get("n"), cell.get("stderr"), low, high, cell.get("p"), cell.get("model"), cell.get("mark") == "best")
                        )  # fmt: skip
            for one in table["derived"]:
                expected.append((table["id"], one["id"], "derived", one["value"], *[None] * 7, False))
        self.assertGreater(len(expected), 500)
        self.assertTrue(any(row[4] is not None for row in expected))
        names = ("table", "row", "column", "value", "text", "n", "stderr", "low", "high", "p", "model", "best")
        self.assertEqual(values(pyarrow.parquet.read_table(file).to_pylist(), *names), expected)
        self.assertEqual(values(polars.read_parquet(file).to_dicts(), *names), expected)
        self.assertEqual(values(rows_of(pandas.read_parquet(file)), *names), expected)
        columns = ", ".join(f'"{name}"' for name in names)
        self.assertEqual(duckdb.sql(f"SELECT {columns} FROM '{file}'").fetchall(), expected)
