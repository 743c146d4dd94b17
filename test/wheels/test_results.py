"""Tests that results have the types of layerloom.results: every required key, no unknown one, counts as int."""

import copy
import json
import os
import pickle
import tempfile
import types
import unittest
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import layerloom
from layerloom import results
from layerloom._result import attribute_of
from smoke_models import write_expert


def misfit(value: Any, of: Any, at: str) -> str | None:
    """The part of a value that does not match its type, or None."""
    if of is Any:
        return None
    if of in (int, float):
        return None if type(value) is of else f"{at} is {value!r}"
    if isinstance(of, type) and issubclass(of, layerloom.Result):
        hints = {name: hint for name, hint in get_type_hints(of).items() if name != "_optional"}
        optional = {attribute_of(key) for key in of._optional}
        if not isinstance(value, dict):
            return f"{at} is {value!r}, no {of.__name__}"
        names = {attribute_of(key) for key in value}
        wrong = (hints.keys() - optional - names) | (names - hints.keys())
        if wrong:
            return f"{at}: {of.__name__} lacks, or should lack, {sorted(wrong)}"
        if type(value) not in (of, dict):
            return f"{at} is a {type(value).__name__}, no {of.__name__}"
        return next(filter(None, (misfit(one, hints[attribute_of(key)], f"{at}.{key}") for key, one in value.items())), None)
    origin, arguments = get_origin(of), get_args(of)
    if origin in (Union, types.UnionType):
        misfits = [misfit(value, one, at) for one in arguments]
        return None if None in misfits else " and ".join(str(one) for one in misfits)
    if origin is Literal:
        return None if value in arguments else f"{at} is {value!r}"
    if origin is list:
        if not isinstance(value, list):
            return f"{at} is no list"
        return next(filter(None, (misfit(one, arguments[0], f"{at}[{index}]") for index, one in enumerate(value))), None)
    if origin is dict:
        if not isinstance(value, dict):
            return f"{at} is no dictionary"
        return next(filter(None, (misfit(one, arguments[1], f"{at}.{key}") for key, one in value.items())), None)
    return None if isinstance(value, of) else f"{at} is {value!r}, no {of}"


class Results(unittest.TestCase):
    def setUp(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        os.chdir(self.directory.name)
        write_expert("base", 0)
        write_expert("a", 1)
        write_expert("b", 3)
        Path("recipe.yaml").write_text("method: soup\nmodels: [./a, ./b]\n")
        Path("study.yaml").write_text(
            "base: ./base\ntasks: {a: ./a}\nlanguages:\n  swahili: {b: ./b}\n"
            "merges:\n  - {name: default, method: layer_swap, bottom: 1, top: 1}\n"
        )

    def tearDown(self) -> None:
        layerloom.close()
        os.chdir("/")
        self.directory.cleanup()

    def fits(self, value: Any, of: Any) -> None:
        self.assertIsNone(misfit(value, of, "result"))

    def test_a_misfit_is_found(self) -> None:
        self.assertIn("lacks", str(misfit({}, results.MergeResult, "result")))
        self.assertIn("should lack", str(misfit({"tensors": 1, "bytes": 2, "more": 3}, results.Totals, "result")))
        self.assertIn("result[1]", str(misfit([1.5, True], list[float], "result")))
        self.assertIn("'soft'", str(misfit("soft", Literal["hard"] | None, "result")))

    def test_keys_are_attributes_too_in_snake_case(self) -> None:
        merged = layerloom.swap(task="a", lang="b", bottom=1, top=1, out="merged")
        self.assertIs(type(merged), results.MergeResult)
        for key, value in merged.items():
            self.assertIs(getattr(merged, attribute_of(key)), value)
        self.assertEqual((merged.bytes_written, merged["bytesWritten"]), (merged.bytes_written,) * 2)
        self.assertEqual((type(merged.seconds), type(merged.bytes_written)), (float, int))
        self.assertEqual(merged.shards[0].file, merged["shards"][0]["file"])
        # An optional key that is absent.
        self.assertIsNone(merged.truncated)
        self.assertNotIn("truncated", merged)
        self.assertIn("bytes_written", dir(merged))
        with self.assertRaisesRegex(AttributeError, "'MergeResult' object has no attribute 'byteswritten'"):
            merged.byteswritten  # type: ignore[attr-defined]
        self.assertEqual(json.loads(json.dumps(merged)), merged)
        for other in (pickle.loads(pickle.dumps(merged)), copy.deepcopy(merged)):
            self.assertEqual((other, type(other)), (merged, type(merged)))
        self.assertEqual(layerloom.swap(task="a", lang="b", bottom=1, top=1).result.bytes_written, merged.bytes_written)

    def test_results_are_copied_pickled_and_written_as_dictionaries(self) -> None:
        for result in (layerloom.inspect("a"), layerloom.diff("a", "b"), layerloom.soup(["a", "b"], dry_run=True)):
            for same in (copy.copy(result), copy.deepcopy(result), pickle.loads(pickle.dumps(result))):
                self.assertEqual((type(same), same), (type(result), result))
            self.assertEqual(json.loads(json.dumps(result)), result)
            if find_spec("yaml"):
                import yaml

                for dump in (yaml.safe_dump, yaml.dump):
                    self.assertEqual(yaml.safe_load(dump(result)), result)

    def test_every_key_has_an_attribute_and_no_method_of_a_dictionary_is_hidden(self) -> None:
        for name in results.__all__:
            hints = get_type_hints(getattr(results, name))
            self.assertEqual([key for key in hints if hasattr(dict, key)], [])
            self.assertLessEqual({attribute_of(key) for key in getattr(results, name)._optional}, hints.keys())

    def test_results_have_their_types(self) -> None:
        swap = {"task": "a", "lang": "b", "bottom": 1, "top": 1}
        self.fits(layerloom.swap(**swap, out="swapped", checksums=True), results.MergeResult)
        self.fits(layerloom.swap(**swap, dry_run=True), results.PrintedPlan)
        self.fits(layerloom.soup(["a", "b"], out="soup"), results.MergeResult)
        self.fits(layerloom.merge("recipe.yaml", out="merged"), results.MergeResult)
        tensor = "model.layers.1.mlp.up_proj.weight"
        self.fits(layerloom.merge("recipe.yaml", explain=tensor), results.PrintedExplanation)
        self.fits(layerloom.revert("a", base="base", bottom=1, top=1, out="reverted"), results.MergeResult)
        self.fits(layerloom.revert("a", base="base", bottom=1, top=1, dry_run=True), results.PrintedPlan)
        self.fits(layerloom.relayout("a", out="relaid"), results.MergeResult)
        self.fits(layerloom.analyze(["a", "b"], base="base", bottom=1, top=1, out="analysis"), results.AnalysisResult)
        self.fits(layerloom.diff("a", "swapped"), results.Comparison)
        self.fits(layerloom.inspect("a"), results.InspectedCheckpoint)
        self.fits(layerloom.partition("base", bottom=1, top=1, out="parts"), results.PrintedPartition)
        self.fits(layerloom.run_experiment("study.yaml", dry_run=True), results.PlannedBatch)
        self.fits(layerloom.run_experiment("study.yaml", out="study"), results.BatchDone)


if __name__ == "__main__":
    unittest.main()
