"""Damaged, half-written or missing files give one error with a code and the file, as on the command line."""

import json
import os
import random
import shutil
import subprocess
import unittest
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import layerloom

results = Path(os.environ["LAYERLOOM_RESULTS"])
command: list[str] = json.loads(os.environ["LAYERLOOM_COMMAND"])
VALUES: list[Any] = [None, True, -1.5, 1e300, "", "\ud800", "x\u0000", [], [[]], {}, {"a": {}}, 2**80]
TABLES = ("merges", "references", "scores", "samples", "analyses")


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all values below one; of a list, only the first."""
    pairs = list(value.items()) if isinstance(value, dict) else list(enumerate(value))[:1] if isinstance(value, list) else []
    for key, one in pairs:
        yield (*path, key)
        yield from places(one, (*path, key))


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    copy = json.loads(json.dumps(value))
    at = copy
    for key in path[:-1]:
        at = at[key]
    if new is KeyError:
        del at[path[-1]]
    else:
        at[path[-1]] = new
    return copy


def read_all(directory: str) -> None:
    study = layerloom.open(directory)
    study._repr_html_()
    for name in TABLES:
        study.to_pandas(name)
        study.to_polars(name)
        study.to_arrow(name)


class Hostile(unittest.TestCase):
    def setUp(self) -> None:
        shutil.rmtree("study", ignore_errors=True)
        # Limits the record to two merges and a reference with two problems each.
        record = json.loads((results / "study/experiment.json").read_text())
        record["merges"], record["references"] = record["merges"][:2], record["references"][:1]
        Path("study/evaluations").mkdir(parents=True)
        for model in record["merges"] + record["references"]:
            del model["scores"]["mgsm_direct_en"]
            for score in model["scores"].values():
                name = score["result"]
                shutil.copy(results / "study" / name, f"study/{name}")
                name = name.replace(".json", ".problems.json")
                problems = json.loads((results / "study" / name).read_text())
                Path("study", name).write_text(json.dumps(problems[:2]))
        for file in (results / "study/evaluations").glob("*.texts.json"):
            shutil.copy(file, "study/evaluations")
        self.record = record
        self.write()

    def write(self, record: Any = None) -> None:
        Path("study/experiment.json").write_text(json.dumps(self.record if record is None else record))

    def refused(self, code: str, file: str | Path, read: Callable[[], object]) -> layerloom.LayerloomError:
        with self.assertRaises(layerloom.LayerloomError) as raised:
            read()
        self.assertEqual(raised.exception.code, code)
        self.assertEqual(raised.exception.exit_code, 3)
        self.assertIn(str(file), str(raised.exception))
        return raised.exception

    def test_what_is_right_is_read(self) -> None:
        read_all("study")

    def test_errors_are_those_of_the_command_line(self) -> None:
        cases = {
            "half": lambda: Path("study/experiment.json").write_text(json.dumps(self.record)[:1000]),
            "type": lambda: self.write({**self.record, "merges": {}}),
            "missing": lambda: Path("study/experiment.json").unlink(),
        }
        for name, damage in cases.items():
            with self.subTest(name):
                self.write()
                damage()
                words = [*command, "table", str(Path("study").absolute()), "--json"]
                printed = json.loads(subprocess.run(words, capture_output=True, text=True).stdout)["error"]
                error = self.refused(printed["code"], "study", lambda: read_all("study"))
                if name == "missing":
                    problem = error.message.split(";")[0]
                    self.assertEqual(problem, printed["message"].split(";")[0])
                self.assertEqual(error.details.keys(), printed["details"].keys())

    def test_every_damaged_value_of_a_record_is_an_error_or_harmless(self) -> None:
        errors = 0
        for path in places(self.record):
            for new in [*VALUES, KeyError]:
                self.write(changed(self.record, path, new))
                try:
                    read_all("study")
                except layerloom.LayerloomError as error:
                    errors += 1
                    self.assertIn(error.code, ("EXPERIMENT_INVALID", "RESULTS_INVALID"), (path, new))
                    self.assertIn("study", str(error))
        self.assertGreater(errors, 100)

    def test_every_damaged_value_of_a_result_is_an_error_or_harmless(self) -> None:
        score = self.record["merges"][0]["scores"]["mgsm_direct_sw"]
        texts = json.loads(Path("study", score["result"]).read_text())["texts"]
        names = [score["result"], score["result"].replace(".json", ".problems.json"), f"evaluations/{texts}"]
        for file in (Path("study", name) for name in names):
            content = json.loads(file.read_text())
            errors = 0
            for path in [(), *places(content)] if isinstance(content, dict) else list(places(content)):
                for new in [*VALUES, KeyError] if path else VALUES:
                    file.write_text(json.dumps(changed(content, path, new) if path else new))
                    try:
                        read_all("study")
                    except layerloom.LayerloomError as error:
                        errors += 1
                        self.assertEqual(error.code, "RESULTS_INVALID", (path, new))
                        self.assertIn("evaluations", str(error))
            self.assertGreater(errors, 20)
            file.write_text(json.dumps(content))

    def test_half_written_and_random_files_are_errors(self) -> None:
        rng = random.Random(1)
        files = {
            "experiment.json": "EXPERIMENT_INVALID",
            self.record["merges"][0]["scores"]["mgsm_direct_sw"]["result"]: "RESULTS_INVALID",
        }
        for name, code in files.items():
            file = Path("study", name)
            content = file.read_bytes()
            for _ in range(50):
                file.write_bytes(content[: rng.randrange(len(content.rstrip()))])
                self.refused(code, file.absolute(), lambda: read_all("study"))
            for damaged in (b"\xff" * 100, b"[" * 100_000, b'{"a": NaN}', b"1" * 10_000, b"", b"null"):
                file.write_bytes(damaged)
                self.refused(code, file.absolute(), lambda: read_all("study"))
            file.write_bytes(content)

    def test_missing_results_are_errors_and_merges_are_still_read(self) -> None:
        score = self.record["merges"][0]["scores"]["mgsm_direct_sw"]
        for name in (score["result"], score["result"].replace(".json", ".problems.json")):
            file = Path("study", name)
            content = file.read_bytes()
            file.unlink()
            self.refused("RESULTS_INVALID", file.absolute(), lambda: read_all("study"))
            self.assertEqual(len(layerloom.open("study").merges), 2)
            file.write_bytes(content)

    def test_a_result_of_another_directory_is_not_read(self) -> None:
        Path("elsewhere.json").write_text("{}")
        record = changed(self.record, ("merges", 0, "scores", "mgsm_direct_sw", "result"), "../elsewhere.json")
        self.write(record)
        self.refused("RESULTS_INVALID", "evaluations/elsewhere.json", lambda: layerloom.open("study").scores)

    def test_a_pipe_is_refused_at_once(self) -> None:
        Path("study/experiment.json").unlink()
        os.mkfifo("study/experiment.json")
        self.refused("EXPERIMENT_INVALID", "experiment.json", lambda: layerloom.open("study"))

    def test_directories_that_are_neither_are_told(self) -> None:
        Path("empty").mkdir(exist_ok=True)
        self.refused("EXPERIMENT_MISSING", "empty", lambda: layerloom.open("empty"))
        self.refused("EXPERIMENT_MISSING", "nowhere", lambda: layerloom.open("nowhere"))
        self.refused("READ_FAILED", "empty", lambda: layerloom.Merge("empty"))
        Path("empty/layerloom.json").write_text("{}")
        self.refused("EXPERIMENT_MISSING", "it is a single merge: layerloom.Merge shows it", lambda: layerloom.open("empty"))
        Path("empty/layerloom.json").unlink()
        with self.assertRaises(KeyError):
            layerloom.open("study").merge("swahili/none")
        with self.assertRaises(KeyError):
            layerloom.open("study").rows("meges")

    def test_a_damaged_analysis_is_an_error(self) -> None:
        shutil.rmtree("analysis", ignore_errors=True)
        shutil.copytree(results / "analysis", "analysis")
        file = Path("analysis/math-1.json")
        content = json.loads(file.read_text())
        content["tensors"] = dict(list(content["tensors"].items())[:2])
        errors = 0
        for path in places(content):
            for new in [*VALUES, KeyError]:
                file.write_text(json.dumps(changed(content, path, new)))
                try:
                    read_all("analysis")
                except layerloom.LayerloomError as error:
                    errors += 1
                    self.assertEqual(error.code, "ANALYSIS_MISMATCH", (path, new))
        self.assertGreater(errors, 50)
        file.unlink()
        self.refused("ANALYSIS_MISMATCH", file, lambda: layerloom.open("analysis"))
