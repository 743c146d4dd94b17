"""Tests of merges in memory, in an environment that has the package installed: `python -m unittest
test_memory`.

Tests that need NumPy (with ml_dtypes) or torch (with transformers) are skipped without them.
"""

import asyncio
import itertools
import json
import os
import pickle
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest import mock

import layerloom
from layerloom import _call, _engine, _model
from smoke_models import ELEMENTS, names_of, write_expert
from workplace import REPEATS, Workplace, processes, scratches, until

needs_numpy = unittest.skipUnless(find_spec("numpy") and find_spec("ml_dtypes"), "needs numpy and ml_dtypes")
needs_torch = unittest.skipUnless(find_spec("torch") and find_spec("transformers"), "needs torch and transformers")

MERGING = """
import layerloom
from layerloom import _engine
layerloom.diff("a", "b")
print(_engine.running[0].process.pid, flush=True)
while True:
    layerloom.soup(["large-a", "large-b"])
"""
HANDING_OVER = """
import layerloom, numpy
from layerloom import _engine
layerloom.diff("a", "b")
tensors = {f"model.layers.{layer}.mlp.up_proj.weight": numpy.ones(16 << 20, "float32") for layer in range(3)}
print(_engine.running[0].process.pid, flush=True)
while True:
    layerloom.soup([tensors, dict(tensors)])
"""


def bytes_of(checkpoint: Mapping[str, Any]) -> dict[str, bytes]:
    assert isinstance(checkpoint, layerloom.Merged)
    return {name: bytes(checkpoint.raw(name)) for name in checkpoint}


def merged_to(out: str) -> dict[str, bytes]:
    return bytes_of(layerloom.relayout(out))


def private_bytes() -> int:
    """Private memory of this process in bytes, without files."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(next(line.split()[1] for line in status.splitlines() if line.startswith("RssAnon")))


def mappings() -> int:
    """Number of anonymous in-memory files that this process has mapped."""
    return sum(".layerloom-scratch-" in line and "(deleted)" in line for line in Path("/proc/self/maps").read_text().splitlines())


class Memory(Workplace):
    def engine(self) -> int:
        assert len(_engine.running) == 1
        return _engine.running[0].process.pid

    def test_without_out_a_call_returns_what_it_would_write(self) -> None:
        experts: dict[str, Any] = {"task": "a", "lang": "b"}
        pairs = {
            "swap": (layerloom.swap(**experts, bottom=1, top=1), layerloom.swap(**experts, bottom=1, top=1, out="swap")),
            "soup": (layerloom.soup(["a", "b"], weights=[2, 1]), layerloom.soup(["a", "b"], weights=[2, 1], out="soup")),
            "merge": (layerloom.merge("right.yaml"), layerloom.merge("right.yaml", out="merge")),
            "revert": (layerloom.revert("a", base="b", bottom=1, top=1), layerloom.revert("a", base="b", bottom=1, top=1, out="revert")),
            "relayout": (layerloom.relayout("a", layout="size"), layerloom.relayout("a", layout="size", out="relayout")),
        }
        for name, (memory, printed) in pairs.items():
            with self.subTest(name):
                self.assertIsInstance(memory, layerloom.Merged)
                self.assertEqual(set(memory.result), set(printed) - {"out"})
                self.assertEqual(sorted(memory), names_of())
                memory.save(f"{name}-saved")
                difference = layerloom.diff(name, f"{name}-saved")
                self.assertTrue(difference["equal"])
                self.assertEqual(sorted(os.listdir(name)), sorted(os.listdir(f"{name}-saved")))
        self.assertEqual(len({bytes(memory.raw("model.layers.0.mlp.up_proj.weight")) for memory, _ in pairs.values()}), 4)
        self.assertEqual(scratches([self.engine()]), [])

    def test_an_extracted_adapter_is_in_memory_too(self) -> None:
        def write(name: str, value: int) -> None:
            Path(name).mkdir()
            header = {"model.layers.0.mlp.up_proj.weight": {"dtype": "F32", "shape": [8, 8], "data_offsets": [0, 256]}}
            text = json.dumps(header).encode()
            content = b"".join(bytes([0, 0, value * (index % 5) % 128, 63]) for index in range(64))
            Path(name, "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + content)

        write("base", 1)
        write("expert", 3)
        adapter = layerloom.extract_lora("expert", base="base", rank=2)
        layerloom.extract_lora("expert", base="base", rank=2, out="adapter")
        assert adapter.config is not None
        self.assertEqual(adapter.config["r"], 2)
        self.assertEqual(adapter.files["adapter_config.json"], Path("adapter/adapter_config.json").read_bytes())
        adapter.save("adapter-saved")
        weights = "adapter_model.safetensors"
        self.assertEqual(Path("adapter", weights).read_bytes(), Path("adapter-saved", weights).read_bytes())

    def test_it_is_a_mapping_of_names_to_bytes_that_lie_once_in_memory(self) -> None:
        with layerloom.merge({"method": "soup", "models": ["a", "b"]}) as merged:
            self.assertEqual((len(merged), merged.nbytes), (4, 4 * 4 * ELEMENTS))
            self.assertIn(names_of()[0], merged)
            self.assertNotIn("nothing", merged)
            self.assertRaises(KeyError, merged.raw, "nothing")
            self.assertEqual((merged.dtype(names_of()[0]), merged.shape(names_of()[0])), ("F32", (ELEMENTS,)))
            self.assertEqual(repr(merged), f"<layerloom.Merged: 4 tensors, {merged.nbytes} bytes>")
            self.assertIn("README.md", merged.files)
            self.assertIsNone(merged.config)
            before = merged.raw(names_of()[0])
            before[0] = 255
            # Repeated requests return the same bytes.
            self.assertEqual(merged.raw(names_of()[0])[0], 255)
            self.assertRaisesRegex(TypeError, "`save` writes it", pickle.dumps, merged)
            self.assertGreater(mappings(), 0)
        self.assertRaisesRegex(ValueError, "closed", merged.raw, names_of()[0])
        # Memory in use stays.
        self.assertEqual((before[0], mappings()), (255, 1))
        del before
        self.assertEqual(mappings(), 0)

    def test_a_saved_merge_is_there_whole_or_not_at_all(self) -> None:
        merged = layerloom.soup(["a", "b"])
        self.assertRaises(FileExistsError, merged.save, "a")
        merged.raw(names_of()[0])[:4] = b"\0\0\0\0"
        merged.save("merged")
        self.assertNotEqual(merged_to("merged"), bytes_of(layerloom.soup(["a", "b"])))
        with mock.patch("os.rename", side_effect=KeyboardInterrupt), self.assertRaises(KeyboardInterrupt):
            merged.save("merged-2")
        self.assertEqual(self.left(), ["merged"])

    def test_options_that_write_nothing_or_need_an_output_mean_what_they_did(self) -> None:
        self.assertIn("inputs", layerloom.soup(["a", "b"], dry_run=True))
        self.assertIsInstance(layerloom.merge("right.yaml", explain=names_of()[0]), dict)
        for given in ({"force": True}, {"resume": True}, {"link": "hard"}):
            with self.subTest(given), self.assertRaises(layerloom.LayerloomError) as raised:
                layerloom.soup(["a", "b"], **given)
            self.assertEqual((raised.exception.code, str(raised.exception)), ("USAGE", "required option `out` not specified"))
        with self.assertRaises(layerloom.LayerloomError) as raised:
            layerloom.soup(["a", "b"], out="")
        self.assertEqual(str(raised.exception), "`out` is empty")

    def test_recipes_are_dictionaries_of_either_dialect(self) -> None:
        expected = bytes_of(layerloom.merge("right.yaml"))
        theirs = {"merge_method": "linear", "models": [{"model": Path(one), "parameters": {"weight": 1}} for one in "ab"]}
        nested = {"method": "soup", "models": [{"method": "soup", "models": ("a", "b")}]}
        for recipe in ({"method": "soup", "models": ["./a", "./b"]}, theirs, nested):
            self.assertEqual(bytes_of(layerloom.merge(recipe)), expected)
        os.mkdir("elsewhere")
        os.chdir("elsewhere")
        self.assertEqual(bytes_of(layerloom.merge({"method": "soup", "models": ["../a", Path("../b")]})), expected)
        written = layerloom.merge({"method": "soup", "models": ["../a", "../b"]}, out="../merged")
        self.assertEqual(written["method"], "soup")

    def test_models_in_memory_have_names_and_no_path(self) -> None:
        a, b = layerloom.relayout("a"), layerloom.relayout("b")
        expected = bytes_of(layerloom.soup(["a", "b"]))
        for merged in (layerloom.soup({"math": a, "swh": b}), layerloom.merge({"method": "soup", "models": {"math": a, "swh": b}})):
            self.assertEqual(bytes_of(merged), expected)
            record = json.loads(merged.files["layerloom.json"])
            self.assertEqual([one["path"] for one in record["inputs"]], ["./math", "./swh"])
            self.assertEqual(record["origins"][0]["from"], ["0.5 math + 0.5 swh"])
        layerloom.soup({"math": a, "swh": b}, out="named", save_recipe="recipe.yaml", checksums=True)
        layerloom.analyze([a], base=b, out="analysis")
        written = [path for path in Path().rglob("*") if path.is_file() and b"layerloom-scratch" in path.read_bytes()]
        self.assertEqual(written, [])
        plan = layerloom.soup({"math": a, "swh": b}, dry_run=True)
        self.assertEqual((plan.inputs[0].path, plan.inputs[1].files[0].path.split("/")[0]), ("math", "swh"))
        with warnings.catch_warnings(record=True) as caught, self.assertRaises(layerloom.LayerloomError) as raised:
            warnings.simplefilter("always")
            layerloom.swap(task=a, lang=b, bottom=2, top=2)
        for text in (str(raised.exception), json.dumps(raised.exception.details), *(str(one.message) for one in caught)):
            self.assertNotIn("scratch", text)

    def test_wrong_recipes_are_refused_as_files_are(self) -> None:
        wrong: list[dict[str, Any]] = [
            {},
            {"method": "linnear", "models": ["a", "b"]},
            {"method": "soup", "modells": ["a", "b"]},
            {"method": "soup", "models": ["a", "nowhere"]},
            {"method": "soup", "models": []},
            {"method": "soup", "models": ["a", "b"], "weights": [1]},
            {"method": "ties", "base": "a", "models": ["b"], "density": 2},
            {"method": "layer_swap", "task": "a", "language": "other"},
            {"method": "layer_swap", "task": "a"},
            {"merge_method": "slerp", "models": [{"model": "a"}, {"model": "b"}]},
            {"merge_method": "linear", "models": [{"model": "a"}], "method": "soup"},
        ]
        for recipe in wrong:
            with self.subTest(recipe), self.assertRaises(layerloom.LayerloomError) as raised:
                layerloom.merge(recipe)
            Path("recipe").write_text(json.dumps(recipe, indent=1))
            with self.subTest(recipe), self.assertRaises(layerloom.LayerloomError) as of_file:
                layerloom.merge("recipe", out="new")
            for name in ("code", "message", "exit_code"):
                self.assertEqual(getattr(raised.exception, name), getattr(of_file.exception, name), recipe)
        with self.assertRaisesRegex(ValueError, r"weights\[1\]: expected a finite number, got nan"):
            layerloom.merge({"method": "soup", "models": ["a", "b"], "weights": [1, float("nan")]})
        self.assertEqual(scratches([self.engine()]), [])

    def test_what_is_no_model_is_refused(self) -> None:
        for given in (1, None, object(), {"a": 1}, ["a", 2]):
            with self.subTest(given), self.assertRaises(TypeError):
                layerloom.soup(given)  # type: ignore[arg-type]
        for name in ("", ".hidden", "a/b", "a=b"):
            self.assertRaises(ValueError, layerloom.Model, {}, name=name)

    def test_a_merge_that_memory_has_no_room_for_is_in_files_of_tmpdir(self) -> None:
        wait, places = _call.wait, []

        def full(texts: list[str], *given: Any) -> dict[str, Any]:
            [out] = [text.removeprefix("--out=") for text in texts if text.startswith("--out=")]
            places.append(out)
            if len(places) == 1:
                raise layerloom.LayerloomError("DISK_SPACE", "full", {"out": out, "needed": 10, "available": 1}, 1)
            return wait(texts, *given)

        with mock.patch.object(_call, "wait", full), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            merged = layerloom.soup(["a", "b"])
        self.assertEqual((len(merged), len(set(places))), (4, 2))
        self.assertEqual((caught[0].category, caught[0].filename), (layerloom.LayerloomWarning, __file__))
        self.assertRegex(str(caught[0].message), "memory has no room for 10 bytes")
        self.assertEqual(scratches([self.engine()]), [])

    def test_a_merge_that_fits_nowhere_is_refused_before_anything_is_written(self) -> None:
        size = 1 << 42
        Path("vast").mkdir()
        header = json.dumps({"model.layers.0.mlp.up_proj.weight": {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}}).encode()
        with open("vast/model.safetensors", "wb") as file:
            file.write(len(header).to_bytes(8, "little") + header)
            try:
                file.truncate(8 + len(header) + size)
            except OSError as error:
                self.skipTest(f"no sparse file of {size} bytes: {error}")
        with self.assertRaises(layerloom.LayerloomError) as raised:
            layerloom.relayout("vast")
        self.assertEqual((raised.exception.code, raised.exception.exit_code), ("DISK_SPACE", 1))
        self.assertEqual(scratches([self.engine()]), [])

    def test_private_memory_stays_while_a_model_is_merged_and_read(self) -> None:
        self.large()
        layerloom.diff("a", "b")
        before = private_bytes()
        most = 0

        def note(_: object) -> None:
            nonlocal most
            most = max(most, private_bytes())

        merged = layerloom.soup(["large-a", "large-b"], progress=note)
        # Every page is touched.
        self.assertEqual(sum(merged.raw(name)[:: 1 << 12].tobytes()[0] for name in merged), 0)
        self.assertGreater(most, 0)
        self.assertGreaterEqual(merged.nbytes, 256 << 20)
        self.assertLess(max(most, private_bytes()) - before, 16 << 20)

    def test_a_forked_child_reads_it_and_writes_to_pages_of_its_own(self) -> None:
        merged = layerloom.soup(["a", "b"])
        raw = merged.raw(names_of()[0])
        child = os.fork()
        if child == 0:
            expected = bytes(raw[4:8])
            raw[:4] = b"abcd"
            os._exit(0 if bytes(raw[:8]) == b"abcd" + expected else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual(bytes(raw[:4]), bytes(raw[4:8]))

    def test_nothing_that_is_not_needed_is_imported(self) -> None:
        program = "import sys, layerloom; layerloom.soup(['a', 'b']); print([name for name in ('numpy', 'torch', 'ml_dtypes', 'tempfile') if name in sys.modules])"
        printed = subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True, capture_output=True, text=True).stdout
        self.assertEqual(printed, "['tempfile']\n")

    def test_coroutines_return_it_too(self) -> None:
        async def merge() -> list[Any]:
            return await asyncio.gather(
                layerloom.aio.soup(["a", "b"]),
                layerloom.aio.merge({"method": "soup", "models": ["a", "b"]}),
                layerloom.aio.swap(task="a", lang="b", bottom=1, top=1, dry_run=True),
            )

        soup, merged, plan = asyncio.run(merge())
        self.assertEqual(bytes_of(soup), bytes_of(merged))
        self.assertIn("inputs", plan)


@needs_torch
class Values(Workplace):
    """Values of torch, NumPy and mergekit are taken where numbers, lists, dtypes and recipes are."""

    def test_numbers_lists_and_dtypes(self) -> None:
        import numpy
        import torch

        expected = layerloom.soup(["a", "b"], weights=[2, 1], dtype="float16").files["layerloom.json"]
        record = json.loads(expected)["completeRecipe"]
        for weights in (torch.tensor([2, 1]), numpy.array([2.0, 1.0]), (numpy.int8(2), torch.tensor(1.0))):
            for dtype in (torch.float16, numpy.float16, numpy.dtype("float16"), numpy.dtype(">f2")):
                for merged in (
                    layerloom.soup(["a", "b"], weights=weights, dtype=dtype, threads=numpy.int64(1)),
                    layerloom.merge({"method": "soup", "models": ["a", "b"], "weights": weights, "dtype": dtype}),
                ):
                    self.assertEqual(json.loads(merged.files["layerloom.json"])["completeRecipe"], record)
                    self.assertEqual(merged.dtype(names_of()[0]), "F16")
        layers = [layerloom.swap(task="a", lang="b", lang_layers=one, dry_run=True).recipe for one in ([0, 2], numpy.array([0, 2]), torch.tensor([0, 2]), "0,2")]
        self.assertEqual(layers, [layers[0]] * 4)
        for given in ({"out": numpy.float32}, {"layout": torch.float16}, {"threads": numpy.dtype("i4")}):
            with self.subTest(given), self.assertRaisesRegex(TypeError, "not a dtype"):
                layerloom.soup(["a", "b"], **given)

    def test_sparse_tensors_are_refused_by_name(self) -> None:
        import torch

        for sparse in (torch.eye(4).to_sparse(), torch.eye(4).to_sparse_csr()):
            with self.assertRaisesRegex(TypeError, r"^w: expected a dense tensor, got one of layout torch.sparse_\w+; give its `to_dense\(\)`"):
                layerloom.soup([{"v": torch.eye(4), "w": sparse}, "a"])
        self.assertEqual(scratches([one.process.pid for one in _engine.running]), [])

    def test_tensors_without_values_are_refused_by_name(self) -> None:
        import torch

        for tensor in (torch.empty(4, 4, device="meta"), torch.nested.nested_tensor([torch.eye(4)])):
            with self.assertRaisesRegex((TypeError, ValueError), r"^w: "):
                layerloom.soup([{"v": torch.eye(4), "w": tensor}, "a"])
        with self.assertRaisesRegex(ValueError, r"^w: its values cannot be read: "):
            torch.func.vmap(lambda one: layerloom.soup([{"w": one}, "a"]))(torch.eye(4)[None])
        self.assertEqual(scratches([one.process.pid for one in _engine.running]), [])

    @unittest.skipUnless(find_spec("mergekit"), "needs mergekit")
    def test_a_configuration_of_mergekit_is_a_recipe(self) -> None:
        from mergekit.config import InputModelDefinition, MergeConfiguration
        from mergekit.common import ModelReference

        models = [InputModelDefinition(model=ModelReference.parse(f"./{one}"), parameters={"weight": 1}) for one in "ab"]
        configuration = MergeConfiguration(merge_method="linear", models=models, dtype="float32")
        expected = bytes_of(layerloom.soup(["a", "b"]))
        self.assertEqual(bytes_of(layerloom.merge(configuration)), expected)
        self.assertEqual(bytes_of(layerloom.merge({"merge_method": "linear", "models": models})), expected)


class Ends(Workplace):
    """A call leaves nothing behind, however it ends."""

    def setUp(self) -> None:
        super().setUp()
        self.large()
        layerloom.diff("a", "b")
        assert len(_engine.running) == 1
        self.engine = _engine.running[0].process.pid
        self.random = random.Random(7)

    def expect_nothing(self, *engines: int) -> None:
        until(lambda: scratches([self.engine, *engines]) == [])

    def test_of_an_exception_or_ctrl_c(self) -> None:
        def stop(_: object) -> None:
            raise ZeroDivisionError

        for _ in range(REPEATS):
            with self.assertRaises(ZeroDivisionError):
                layerloom.soup(["large-a", "large-b"], progress=stop)
            self.expect_nothing()
            threading.Timer(self.random.uniform(0, 0.3), os.kill, (os.getpid(), signal.SIGINT)).start()
            with self.assertRaises(KeyboardInterrupt):
                while True:
                    layerloom.soup(["large-a", "large-b"])
            self.expect_nothing()
        self.assertEqual(mappings(), 0)

    def test_of_a_cancelled_task(self) -> None:
        async def cancel() -> None:
            for _ in range(REPEATS):
                task = asyncio.create_task(layerloom.aio.soup(["large-a", "large-b"]))
                await asyncio.sleep(self.random.uniform(0, 0.2))
                task.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await task
                self.expect_nothing()

        asyncio.run(cancel())

    def test_of_a_killed_engine(self) -> None:
        for _ in range(REPEATS):
            layerloom.diff("a", "b")
            assert len(_engine.running) == 1
            engine = _engine.running[0].process.pid
            killer = threading.Timer(self.random.uniform(0, 0.3), os.kill, (engine, signal.SIGKILL))
            killer.start()
            with self.assertRaises(layerloom.EngineEnded):
                while True:
                    layerloom.soup(["large-a", "large-b"])
            killer.join()
            self.expect_nothing(engine)

    def killed(self, program: str, also_engine: bool) -> list[int]:
        """Kills Pythons in the middle of a program; returns their engines."""
        engines: list[int] = []
        for _ in range(REPEATS):
            child = subprocess.Popen([sys.executable, "-W", "ignore", "-c", program], stdout=subprocess.PIPE)
            assert child.stdout is not None
            engine = int(child.stdout.readline())
            engines.append(engine)
            time.sleep(self.random.uniform(0, 0.5))
            if also_engine:
                os.kill(engine, signal.SIGKILL)
            child.kill()
            child.wait()
            child.stdout.close()
            until(lambda engine=engine: engine not in processes())
        return engines

    @needs_numpy
    def test_of_an_engine_killed_while_models_are_handed_over(self) -> None:
        import numpy

        # Tensors of this order of bytes are copied.
        tensors = {name: numpy.ones(ELEMENTS, ">f4") for name in names_of()}

        def killing(work: Callable[..., Any], at: int) -> Callable[..., Any]:
            calls = itertools.count()

            def replacement(*given: Any) -> Any:
                if next(calls) == at:
                    assert len(_engine.running) == 1
                    _engine.running[0].process.kill()
                    _engine.running[0].process.wait()
                return work(*given)

            return replacement

        for at in range(4):
            layerloom.diff("a", "b")
            with mock.patch.object(_model, "write_array", killing(_model.write_array, at)), self.assertRaises(layerloom.EngineEnded):
                layerloom.soup([tensors, dict(tensors)])
            layerloom.diff("a", "b")
            with mock.patch.object(_model, "write_array", killing(_model.write_array, at)), self.assertRaises(layerloom.EngineEnded):
                asyncio.run(layerloom.aio.soup([tensors, dict(tensors)]))
            self.assertEqual(len(layerloom.soup([tensors, dict(tensors)])), len(tensors))

    def test_of_a_killed_python(self) -> None:
        self.expect_nothing(*self.killed(MERGING, False))

    @needs_numpy
    def test_of_a_python_killed_while_it_hands_models_over(self) -> None:
        for dtype in ("float32", ">f4"):
            self.expect_nothing(*self.killed(HANDING_OVER.replace("float32", dtype), False))

    def test_of_a_python_and_its_engine_killed_at_once_the_next_merge_leaves_nothing(self) -> None:
        engines = self.killed(MERGING, True)
        layerloom.soup(["a", "b"])
        self.assertEqual(scratches([self.engine, *engines]), [])


@needs_numpy
class Arrays(Workplace):
    def tensors(self) -> dict[str, Any]:
        import ml_dtypes
        import numpy

        values = numpy.arange(24) % 7
        made: dict[str, Any] = {
            dtype: values.astype(dtype).reshape(4, 6)
            for dtype in ("bool", "uint8", "int8", "int16", "uint16", "float16", "int32", "uint32", "float32", "float64", "int64", "uint64", "complex64")
        }
        for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
            made[name] = values.astype(getattr(ml_dtypes, name))
        made["big"] = values.astype(">f4")
        made["columns"] = numpy.asfortranarray(made["float32"])
        made["part"] = made["float64"][::2, 1::3]
        made["scalar"] = numpy.float32(2)
        made["nothing"] = numpy.zeros((0, 5), "int16")
        return made

    def test_what_goes_in_as_arrays_comes_out_as_they_were(self) -> None:
        import numpy

        tensors = self.tensors()
        merged = layerloom.relayout(tensors)
        self.assertEqual(set(merged), set(tensors))
        for name, array in tensors.items():
            found = merged[name]
            self.assertEqual((found.dtype, found.shape), (array.dtype.newbyteorder("="), array.shape), name)
            self.assertTrue(numpy.array_equal(found, array), name)
            self.assertTrue(found.flags.aligned and found.flags.writeable, name)
        self.assertTrue(numpy.shares_memory(merged["float32"], merged["float32"]))
        self.assertEqual({name for name, array in merged.items() if array.size == 0}, {"nothing"})

    def test_models_in_memory_merge_as_those_on_disk(self) -> None:
        a, b = layerloom.relayout("a"), layerloom.relayout("b")
        expected = bytes_of(layerloom.swap(task="a", lang="b", bottom=1, top=1))
        self.assertEqual(bytes_of(layerloom.swap(task=dict(a), lang="b", bottom=1, top=1)), expected)
        self.assertEqual(bytes_of(layerloom.swap(task=a, lang=layerloom.Model(b), bottom=1, top=1)), expected)
        recipe = {"method": "layer_swap", "task": dict(a), "language": b, "bottom": 1, "top": 1}
        self.assertEqual(bytes_of(layerloom.merge(recipe)), expected)
        self.assertEqual(layerloom.merge(recipe, out="merged")["method"], "layer_swap")
        self.assertEqual(merged_to("merged"), expected)
        self.assertTrue(layerloom.diff(a, "a")["equal"])
        self.assertFalse(layerloom.diff({"model": "a"}["model"], dict(b))["equal"])

        async def swap() -> Any:
            return await layerloom.aio.swap(task=dict(a), lang=dict(b), bottom=1, top=1)

        self.assertEqual(bytes_of(asyncio.run(swap())), expected)
        assert len(_engine.running) == 1
        self.assertEqual(scratches([_engine.running[0].process.pid]), [])

    def test_a_number_is_the_same_through_every_door(self) -> None:
        import numpy

        given: list[tuple[Any, Any]] = [
            (numpy.float32(0.1), 0.10000000149011612),
            (numpy.array(0.1, "float16"), 0.0999755859375),
            (numpy.float64(0.1), 0.1),
            (numpy.int64(3), 3),
            (numpy.longdouble(0.5), 0.5),
            (Decimal("0.1"), 0.1),
            (Fraction(1, 8), 0.125),
            (1e-5, 1e-5),
            (2.0, 2),
        ]
        if find_spec("torch"):
            import torch

            given += [(torch.tensor(0.1), 0.10000000149011612), (torch.tensor(0.1, dtype=torch.bfloat16), 0.10009765625), (torch.tensor(3), 3)]
        for value, number in given:
            weights = [value, 1]
            doors = [
                layerloom.soup(["a", "b"], weights=weights, dry_run=True),
                layerloom.soup(["a", "b"], weights=tuple(weights), dry_run=True),
                layerloom.merge({"method": "soup", "models": ["a", "b"], "weights": weights}, dry_run=True),
                asyncio.run(layerloom.aio.soup(["a", "b"], weights=weights, dry_run=True)),
            ]
            for plan in doors:
                self.assertEqual(plan["recipe"]["weights"], [number, 1], repr(value))
        array = numpy.array([0.1, 1], "float32")
        for plan in (
            layerloom.soup(["a", "b"], weights=array, dry_run=True),
            layerloom.merge({"method": "soup", "models": ["a", "b"], "weights": array}, dry_run=True),
        ):
            self.assertEqual(plan["recipe"]["weights"], [0.10000000149011612, 1])
        for value in (float("nan"), float("inf"), numpy.float32("nan")):
            self.assertRaisesRegex(ValueError, r"weights\[0\]: expected a finite number", layerloom.merge, {"method": "soup", "models": ["a"], "weights": [value]})

    def test_a_model_has_a_configuration_files_and_a_name(self) -> None:
        Path("side").mkdir()
        Path("side/tokenizer.json").write_text('{"version": "1.0", "model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}}')
        Path("side/config.json").write_text('{"model_type": "other"}')
        Path("side/model.safetensors").write_text("not read")
        model = layerloom.Model(dict(layerloom.relayout("a")), config={"model_type": "llama"}, files="side", name="mine")
        merged = layerloom.soup([model, "a"])
        self.assertEqual(merged.config, {"model_type": "llama"})
        self.assertEqual(merged.files["tokenizer.json"], Path("side/tokenizer.json").read_bytes())
        self.assertIn(b"mine", merged.files["README.md"])
        self.assertEqual(Path("side/config.json").read_text(), '{"model_type": "other"}')
        of_files = layerloom.soup([layerloom.Model(dict(layerloom.relayout("a")), files="side")])
        self.assertEqual(of_files.config, {"model_type": "other"})

    def test_tensors_that_no_file_has_are_refused(self) -> None:
        import numpy

        for array in (numpy.array(["text"]), numpy.array([object()]), numpy.zeros(2, "complex128"), numpy.zeros(2, "datetime64[s]")):
            with self.assertRaisesRegex(TypeError, "x: a model has no tensors of dtype"):
                layerloom.relayout({"x": array})
        assert not _engine.running or scratches([_engine.running[0].process.pid]) == []

    def test_dtypes_without_arrays_are_bytes(self) -> None:
        Path("packed").mkdir()
        header = json.dumps({"x": {"dtype": "F4", "shape": [2, 4], "data_offsets": [0, 4]}}).encode()
        Path("packed/model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + b"1234")
        merged = layerloom.relayout("packed")
        self.assertEqual(bytes(merged.raw("x")), b"1234")
        self.assertRaisesRegex(TypeError, "x: there are no arrays of F4", merged.__getitem__, "x")

    def test_what_is_not_installed_is_said(self) -> None:
        merged = layerloom.relayout({"x": self.tensors()["bfloat16"]})
        for module, work in (("numpy", lambda: merged["x"]), ("ml_dtypes", lambda: merged["x"]), ("torch", merged.state_dict)):
            with mock.patch.dict(sys.modules, {module: None}), self.assertRaisesRegex(ModuleNotFoundError, f"x: .* need {module}: pip install {module}"):
                work()

    def test_pages_that_are_written_are_this_process_s_alone(self) -> None:
        import numpy

        merged = layerloom.soup(["a", "b"])
        array = merged[names_of()[0]]
        array += 1
        self.assertTrue(numpy.array_equal(merged[names_of()[0]], array))
        self.assertEqual(statistics.mean(array[:3].tolist()), 3)


@needs_torch
class Torch(Workplace):

    def setUp(self) -> None:
        super().setUp()
        import torch
        from transformers import LlamaConfig, LlamaForCausalLM

        self.torch = torch
        self.models: dict[str, Any] = {}
        for tied in (True, False):
            for seed in (0, 1):
                torch.manual_seed(seed)
                config = LlamaConfig(
                    hidden_size=32, intermediate_size=64, num_hidden_layers=4, num_attention_heads=4, vocab_size=100, tie_word_embeddings=tied
                )
                name = f"{'tied' if tied else 'untied'}-{seed}"
                self.models[name] = LlamaForCausalLM(config).to(torch.bfloat16).eval()
                self.models[name].save_pretrained(name)

    def logits(self, model: Any) -> Any:
        with self.torch.no_grad():
            return model(self.torch.arange(20).reshape(2, 10)).logits

    def load(self, directory: str) -> Any:
        from transformers import AutoModelForCausalLM

        return AutoModelForCausalLM.from_pretrained(directory, dtype=self.torch.bfloat16).eval()

    def test_a_state_dict_loads_and_gives_the_logits_of_the_merge_on_disk(self) -> None:
        for kind in ("tied", "untied"):
            pair: dict[str, Any] = {"task": f"{kind}-0", "lang": f"{kind}-1", "bottom": 1, "top": 1}
            layerloom.swap(**pair, out=f"merged-{kind}")
            merged = layerloom.swap(**pair)
            expected = self.logits(self.load(f"merged-{kind}"))
            for assign in (False, True):
                model = self.load(f"{kind}-0")
                self.assertFalse(self.torch.equal(self.logits(model), expected))
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    model.load_state_dict(merged.state_dict(), assign=assign)
                self.assertTrue(self.torch.equal(self.logits(model), expected), (kind, assign))

    @unittest.skipUnless(os.environ.get("LAYERLOOM_EXPERTS"), "needs LAYERLOOM_EXPERTS")
    def test_real_experts_give_the_logits_of_the_merge_on_disk(self) -> None:
        task, lang = (str(Path(os.environ["LAYERLOOM_EXPERTS"], name)) for name in ("math-1", "jpn-1"))
        layerloom.swap(task=task, lang=lang, scaled=True, out="merged")
        model = self.load(task)
        state = layerloom.swap(task=model, lang=lang, scaled=True).state_dict()
        model.load_state_dict(state)
        self.assertTrue(self.torch.equal(self.logits(model), self.logits(self.load("merged"))))

    def test_tensors_are_the_bytes_of_the_arrays(self) -> None:
        merged = layerloom.soup(["tied-0", "tied-1"])
        state = merged.state_dict()
        head, embeddings = state["lm_head.weight"], state["model.embed_tokens.weight"]
        self.assertEqual(head.data_ptr(), embeddings.data_ptr())
        self.assertEqual(set(state) - set(merged), {"lm_head.weight"})
        self.assertEqual(set(layerloom.soup(["untied-0", "untied-1"]).state_dict()), set(self.models["untied-0"].state_dict()))
        for name in merged:
            self.assertEqual(merged.tensor(name).data_ptr(), state[name].data_ptr())
        state["model.norm.weight"][0] = 5
        self.assertEqual(merged.tensor("model.norm.weight")[0], 5)

    def test_modules_and_their_tensors_merge_as_their_files(self) -> None:
        for kind in ("tied", "untied"):
            first, second = self.models[f"{kind}-0"], self.models[f"{kind}-1"]
            expected = layerloom.soup([f"{kind}-0", f"{kind}-1"])
            for given in (first, layerloom.Model(first), layerloom.Model(first.state_dict(), config=first.config)):
                merged = layerloom.soup([given, second])
                self.assertEqual({name: bytes(merged.raw(name)) for name in expected}, bytes_of(expected))
                assert merged.config is not None
                self.assertEqual(merged.config["architectures"], ["LlamaForCausalLM"])
            self.assertEqual(set(layerloom.soup([first, f"{kind}-1"])), set(expected))

    def test_the_configuration_has_the_dtype_of_the_weights(self) -> None:
        torch = self.torch
        module = self.models["untied-0"]
        self.assertEqual(str(module.config.dtype).removeprefix("torch."), "bfloat16")

        def dtype_of(model: Any, **options: Any) -> Any:
            merged = layerloom.relayout(model, **options)
            assert merged.config is not None
            return merged.config["dtype"]

        self.assertEqual(dtype_of(module), "bfloat16")
        module.float()
        self.assertEqual(dtype_of(module), "float32")
        self.assertEqual(dtype_of(layerloom.Model(module)), "float32")
        self.assertEqual(dtype_of(layerloom.Model(module.state_dict(), config=module.config)), "float32")
        self.assertEqual(dtype_of(layerloom.Model(module.state_dict(), config={"dtype": "float16", "torch_dtype": "float16"})), "float32")
        self.assertEqual(dtype_of(layerloom.Model(module.state_dict(), files="untied-0")), "float32")
        layerloom.relayout(module, out="cast")
        from transformers import AutoModelForCausalLM

        loaded = AutoModelForCausalLM.from_pretrained("cast", dtype="auto")
        self.assertEqual(loaded.lm_head.weight.dtype, torch.float32)
        for name, tensor in module.state_dict().items():
            self.assertTrue(torch.equal(loaded.state_dict()[name], tensor), name)
        # Mixed dtypes give the one that holds all values. Tensors that transformers keeps in float32 do not
        # count.
        module.bfloat16()
        module.model.norm.float()
        self.assertEqual(dtype_of(module), "float32")
        module._keep_in_fp32_modules_strict = {"norm"}
        self.assertEqual(dtype_of(module), "bfloat16")
        module._keep_in_fp32_modules_strict = set()
        module.model.norm.half()
        self.assertEqual(dtype_of(module), "float32")
        self.assertEqual(dtype_of(layerloom.Model(module.state_dict(), config={"model_type": "llama"})), "float32")
        module.double()
        self.assertEqual(dtype_of(module), "float64")

    def test_tensors_of_every_form_come_out_as_they_were(self) -> None:
        torch = self.torch
        base = torch.arange(24).reshape(4, 6)
        tensors = {str(dtype): base.to(dtype) for dtype in (torch.bfloat16, torch.float16, torch.float32, torch.float64, torch.int8, torch.bool, torch.int64, torch.float8_e4m3fn)}
        tensors |= {"turned": base.float().t(), "scalar": torch.tensor(3.0), "nothing": torch.zeros(0, 3), "grad": torch.nn.Parameter(base.float())}
        merged = layerloom.relayout(tensors)
        for name, tensor in tensors.items():
            found = merged.tensor(name)
            self.assertEqual((found.dtype, found.shape), (tensor.dtype, tensor.shape), name)
            self.assertTrue(torch.equal(found.float(), tensor.detach().float()), name)
        with self.assertRaisesRegex(ValueError, "x: a tensor of the device meta"):
            layerloom.relayout({"x": torch.empty(3, device="meta")})


if __name__ == "__main__":
    unittest.main()
