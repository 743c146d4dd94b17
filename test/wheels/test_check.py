"""Tests that invalid calls are refused before the engine is called, with messages that name the parameter."""

import ast
import asyncio
import inspect
import pickle
import pydoc
import subprocess
import sys
import typing
import unittest
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import layerloom
from layerloom import _calls, _engine

models = {"task": "./math-1", "lang": "./swh-1"}

WRONG: list[tuple[Callable[[], object], str]] = [
    (lambda: layerloom.swap(**models, botom=2), r"swap\(\) has no parameter 'botom'; did you mean 'bottom'\?"),
    (lambda: layerloom.swap(**models, output="x"), "did you mean 'out'"),
    (lambda: layerloom.swap(**models, language="x"), r"swap\(\): lang is given twice, in two spellings"),
    (lambda: layerloom.swap(language="x", **models), r"swap\(\): lang is given twice, in two spellings"),
    (lambda: layerloom.swap(**models, langage="x"), "did you mean 'lang'"),
    (lambda: layerloom.swap(**models, dryrun=True), "did you mean 'dry_run'"),
    (lambda: layerloom.swap(**models, json=True), "no parameter 'json'; it has task, lang, base, "),
    (lambda: layerloom.swap("./math-1", "./swh-1"), r"swap\(\) takes nothing by position; give all else by name"),
    (lambda: layerloom.soup("./math-1", "./swh-1"), r"soup\(\) takes models by position"),
    (lambda: layerloom.revert("./math-1", "./base"), r"takes expert by position; .* such as base=…"),
    (lambda: layerloom.swap(task="./math-1"), "missing 1 required keyword-only argument: 'lang'"),
    (lambda: layerloom.revert(base="./base"), "missing 1 required positional argument: 'expert'"),
    (lambda: layerloom.soup(["./a"], models=["./b"]), r"soup\(\) got multiple values for argument 'models'"),
    (lambda: layerloom.swap(task=None, lang="./swh-1"), r"swap\(\): task must be given"),
    (lambda: layerloom.swap(**models, bottom=True), "bottom must be a number, not True"),
    (lambda: layerloom.swap(task=b"./math-1", lang="./swh-1"), "task must be a path, a name of the hub or a model in memory"),
    (lambda: layerloom.swap(task=3, lang="./swh-1"), "task: expected a path, .*, got int"),
    (lambda: layerloom.swap(task={"name": 3}, lang="./swh-1"), r"swap\(\): task: name: expected an array of NumPy or a tensor of torch, got int"),
    (lambda: layerloom.swap(**models, bottom={"layers": 3}), r"swap\(\): bottom must be a number, not a mapping"),
    (lambda: layerloom.merge(True), "recipe must be a path or a dictionary, not True"),
    (lambda: layerloom.merge(["./a", "./b"]), r"merge\(\): recipe must be a path or a dictionary, not a list"),
    (lambda: layerloom.merge("method: soup\nmodels: [./a, ./b]\n"), r"path or a dictionary; of a text, it is yaml.safe_load\(text\)"),
    (lambda: layerloom.run_experiment(["./a"]), "experiment must be a path or a dictionary, not a list"),
    (lambda: layerloom.run_experiment({"base": SimpleNamespace(state_dict=dict)}), "an experiment's models are read again .*, not SimpleNamespace in memory"),
    (lambda: layerloom.swap(**models, out=["./x"]), "out must be a text or a path, not a list"),
    (lambda: layerloom.swap(**models, force="yes"), "force must be True or False, not 'yes'"),
    (lambda: layerloom.swap(**models, progress=3), "progress must be a function"),
    (lambda: layerloom.swap(**models, progress=asyncio.sleep), "progress must be a function"),
    (lambda: layerloom.soup({"a": "./a"}.values()), r"models: expected a path, .*, got dict_values: give list\(…\) of it"),
    (lambda: layerloom.soup({"math": "./math-1"}), "math: only a model in memory is given by name, not str"),
    (lambda: layerloom.soup({}), "expected a path, .*, got dict"),
    (lambda: layerloom.swap(**models, weights=object()), "expected a text, a path, a number or a list"),
    (lambda: layerloom.soup({"./a", "./b"}), r"soup\(\): models must be a list"),
    (lambda: layerloom.soup(path for path in ["./a", "./b"]), "models must be a list"),
    (lambda: layerloom.merge({"method": "soup", "models": {"./a", "./b"}}), r"models: expected .*, got set, which has no order: give a list"),
    (lambda: layerloom.merge({"method": "soup", "models": frozenset(["./a"])}), "models: expected .*, got frozenset, which has no order"),
    (lambda: layerloom.merge({"method": "soup", "models": {"./a": 1, "./b": 2}.keys()}), "models: expected .*, which has no order"),
    (lambda: layerloom.merge({"method": "soup", "models": [{"method": "soup", "models": {"./a"}}, "./b"]}), r"models\[0\]\.models: expected .*, got set"),
    (lambda: layerloom.merge({"method": "soup", "models": (path for path in ["./a"])}), r"models: expected .*, got generator: give list\(…\) of it"),
    (lambda: layerloom.merge({"method": "soup", "models": map(str, "ab")}), "models: expected .*, got map: give list"),
    (lambda: layerloom.merge({"method": "soup", "models": b"./a"}), "models: expected .*, got bytes"),
    (lambda: layerloom.run_experiment({"languages": {"sw": {"./a"}}}), r"languages\.sw: expected .*, got set"),
    (lambda: layerloom.soup(["./a", "./b"], weights=[True, 1]), "expected a text, a path, a number or a list"),
    (lambda: layerloom.soup(["./a", None]), r"soup\(\): models: item 1: expected a path, .*, got NoneType"),
    (lambda: layerloom.swap(**models, out=3), r"swap\(\): out must be a text or a path, not 3"),
    (lambda: layerloom.swap(**models, bottom=2j), r"swap\(\): bottom: expected .*, not 2j"),
    (lambda: layerloom.swap(**models, weights=[[1, 2]]), r"swap\(\): weights: expected .*, not \[1, 2\]"),
    (lambda: layerloom.swap(**models, weights={"task": 1}), r"swap\(\): weights must be numbers, or a text of them, not a mapping"),
    (lambda: layerloom.Model({1: 2}), "tensors: 1 cannot be the name of a tensor"),
    (lambda: layerloom.Model("./math-1"), "tensors: expected a mapping from names to arrays, or a module of torch, got str"),
    (lambda: layerloom.Model(layerloom.Model({})), "tensors: expected .*, got Model"),
    (lambda: layerloom.Model({}, config="./config.json"), "config: expected a mapping, .*, got str"),
    (lambda: layerloom.Model({}, config={"x": object()}), "config: expected a value of JSON, got object"),
    (lambda: layerloom.Model({}, files=b"./math-1"), "files: expected a text or a path, got b'./math-1'"),
    (lambda: layerloom.Model({}, files=3), "files: expected a text or a path, got 3"),
    (lambda: layerloom.open(None), r"open\(\): expected a text or a path, got None"),
    (lambda: layerloom.open(b"./study"), r"open\(\): expected a text or a path, got b'./study'"),
    (lambda: layerloom.Merge(3), r"Merge\(\): path: expected a text or a path, got 3"),
    (lambda: asyncio.run(layerloom.aio.soup(["./a"], wieghts=[1])), "did you mean 'weights'"),
]

IMPOSSIBLE: list[tuple[Callable[[], object], str]] = [
    (lambda: layerloom.soup([]), r"soup\(\): models: expected at least one, got none"),
    (lambda: layerloom.inspect("a\0b"), r"inspect\(\): checkpoint: expected a text of Unicode without NUL, got 'a\\x00b'"),
    (lambda: layerloom.inspect("a\udcff"), r"inspect\(\): checkpoint: expected a text of Unicode"),
    (lambda: layerloom.inspect("a\ud800"), r"inspect\(\): checkpoint: expected a text of Unicode"),
    (lambda: layerloom.swap(**models, out="a\0"), r"swap\(\): out: expected a text of Unicode without NUL"),
    (lambda: layerloom.Model({"__metadata__": 1}), "tensors: '__metadata__' cannot be the name of a tensor"),
    (lambda: layerloom.Model({"a\udcff": 1}), r"tensors: 'a\\udcff' cannot be the name of a tensor"),
    (lambda: layerloom.open(".", frames="spark"), r"open\(\): frames must be one of pandas, polars, arrow, not 'spark'"),
]


class Checks(unittest.TestCase):
    def test_wrong_arguments_are_type_errors_that_name_them(self) -> None:
        for call, message in WRONG:
            with self.subTest(message), self.assertRaisesRegex(TypeError, message):
                call()
        for call, message in IMPOSSIBLE:
            with self.subTest(message), self.assertRaisesRegex(ValueError, message):
                call()
        self.assertEqual(_engine.running, [])

    def test_exceptions_have_the_names_that_except_takes(self) -> None:
        for one in (layerloom.LayerloomError, layerloom.EngineEnded, layerloom.LayerloomWarning):
            self.assertIs(getattr(sys.modules[one.__module__], one.__qualname__), one)
            self.assertEqual(one.__module__, "layerloom")

    def test_a_misspelt_function_has_a_nearest(self) -> None:
        ran = subprocess.run([sys.executable, "-c", "import layerloom; layerloom.swop"], capture_output=True, text=True)
        self.assertIn("Did you mean: 'swap'?", ran.stderr)

    def test_help_speaks_of_parameters_and_keeps_signatures(self) -> None:
        for name in _calls.__all__:
            for function in (getattr(layerloom, name), getattr(layerloom.aio, name)):
                self.assertNotIn("--", function.__doc__)
                parameters = inspect.signature(function).parameters
                self.assertEqual([*parameters][-1], "progress")
                self.assertEqual([*parameters], [*function.__annotations__][:-1])
                for parameter in parameters:
                    self.assertRegex(function.__doc__, rf"\n    {parameter}: \w")
                self.assertEqual({*typing.get_type_hints(function)}, {*parameters, "return"})
                self.assertIs(pickle.loads(pickle.dumps(function)), function)
                self.assertEqual(inspect.iscoroutinefunction(function), function.__module__ == "layerloom.aio")
        self.assertEqual(sorted(layerloom.aio.__all__), sorted(_calls.__all__))

    def test_stubs_have_the_parameters_and_docstrings_of_the_functions(self) -> None:
        for module in (_calls, layerloom.aio):
            stub = ast.parse(Path(module.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
            seen: dict[str, str] = {}
            for node in stub.body:
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    function = getattr(module, node.name)
                    parameters = inspect.signature(function).parameters.values()
                    by_place = [one.name for one in parameters if one.kind == one.POSITIONAL_OR_KEYWORD]
                    self.assertEqual([one.arg for one in node.args.args], by_place)
                    self.assertEqual({one.arg for one in node.args.kwonlyargs}, {one.name for one in parameters} - {*by_place})
                    self.assertEqual(isinstance(node, ast.AsyncFunctionDef), inspect.iscoroutinefunction(function))
                    seen.setdefault(node.name, ast.get_docstring(node) or "")
            self.assertEqual(seen, {name: getattr(module, name).__doc__ for name in module.__all__})

    def test_help_names_the_package_its_version_and_its_functions(self) -> None:
        text = pydoc.plain(pydoc.render_doc(layerloom))
        for part in ("layerloom - Merges fine-tuned", f"VERSION\n    {layerloom.__version__}", "    swap(", "class Merged("):
            self.assertIn(part, text)
        exported: dict[str, object] = {}
        exec("from layerloom import *", exported)
        self.assertLessEqual({*_calls.__all__, "Merged", "Result", "aio"}, exported.keys())
        self.assertEqual([*layerloom.__all__], [name for name in layerloom.__all__ if hasattr(layerloom, name)])

    def test_help_is_that_of_a_function(self) -> None:
        text = pydoc.plain(pydoc.render_doc(layerloom.merge))
        self.assertIn("function merge in module layerloom._calls", text)
        self.assertIn("\n    Runs `layerloom merge`, with its defaults.\n", text)
        self.assertIn("\n        threads: worker threads; default: number of usable cores; 1 for a small merge\n", text)


if __name__ == "__main__":
    unittest.main()
