"""Tests of tensors that the engine reads in Python's memory, in an environment with the package, NumPy and
ml_dtypes: `python -m unittest test_in_place`."""

import asyncio
import contextlib
import ctypes
import mmap
import os
import re
import sys
import threading
import unittest
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import layerloom
from layerloom import _engine, _memory, _model, aio
from workplace import Workplace

RECIPES: dict[str, dict[str, Any]] = {
    "linear": {"models": 2},
    "slerp": {"models": 2, "base": True, "parameters": {"t": 0.4}},
    "ties": {"models": 2, "base": True, "each": {"weight": 1, "density": 0.5}},
    "dare_ties": {"models": 2, "base": True, "each": {"weight": 1, "density": 0.5}},
    "della": {"models": 2, "base": True, "each": {"weight": 1, "density": 0.5, "epsilon": 0.1}},
    "model_stock": {"models": 2, "base": True},
    "sce": {"models": 2, "base": True},
    "arcee_fusion": {"models": 1, "base": True},
}


@contextlib.contextmanager
def watched() -> Iterator[list[bool]]:
    """Yields a list that tells of each model whether it is read in place."""
    found: list[bool] = []

    def parts_of(*given: Any) -> Any:
        parts = _memory.parts_of(*given)
        found.append(parts is not None)
        return parts

    with mock.patch.object(_model, "parts_of", parts_of):
        yield found


def copying() -> Any:
    return mock.patch.object(_model, "parts_of", lambda *_: None)


def files_of(merged: Any) -> dict[str, Any]:
    """All files, without what differs between any two calls."""
    files = {**merged.files, **{name: bytes(merged.raw(name)) for name in merged}}
    record = re.sub(rb'"(mtimeNs|recordSha256)": "\w+"', b"", files.pop("layerloom.json"))
    return {**files, "layerloom.json": record}


def expert(seed: int, dtype: Any = "float32", rows: int = 96) -> dict[str, Any]:
    import numpy

    random = numpy.random.default_rng(seed)
    names = ["model.embed_tokens.weight", *(f"model.layers.{layer}.mlp.up_proj.weight" for layer in range(3))]
    return {name: random.standard_normal((rows, 64)).astype(dtype) for name in names}


class InPlace(Workplace):
    def dtypes(self) -> list[Any]:
        import ml_dtypes

        return ["float64", "float32", "float16", ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn]

    def test_every_method_writes_what_it_writes_from_copies(self) -> None:
        for dtype in self.dtypes():
            base, a, b = (expert(seed, dtype) for seed in range(3))
            calls: dict[str, Callable[[], Any]] = {
                "swap": lambda: layerloom.swap(task=a, lang=b, bottom=1, top=1),
                "soup": lambda: layerloom.soup([a, b], weights=[2, 1]),
                "revert": lambda: layerloom.revert(a, base=base, bottom=1, top=1),
                "whole file": lambda: layerloom.relayout(a, layout="size"),
            }
            for method, wanted in RECIPES.items():
                recipe = {
                    "merge_method": method,
                    "models": [{"model": one, "parameters": wanted.get("each", {"weight": 1})} for one in (a, b)[: wanted["models"]]],
                    **({"base_model": a if method == "slerp" else base} if wanted.get("base") else {}),
                    "parameters": wanted.get("parameters", {}),
                    **({} if dtype == "float64" else {"dtype": "bfloat16"}),
                }
                calls[method] = lambda recipe=recipe: layerloom.merge(recipe)
            for name, call in calls.items():
                with self.subTest(name, dtype=str(dtype)):
                    with watched() as found:
                        in_place = files_of(call())
                    self.assertTrue(found and all(found))
                    with copying():
                        self.assertEqual(in_place, files_of(call()))

    def test_tensors_larger_than_tiles_and_slices_too(self) -> None:
        base, a, b = (expert(seed, "float32", rows=(5 << 20) // 256 + 3) for seed in range(3))
        recipe = {"merge_method": "ties", "base_model": base, "models": [{"model": one, "parameters": {"weight": 1, "density": 0.5}} for one in (a, b)]}
        for call in (lambda: layerloom.merge(recipe), lambda: layerloom.swap(task=a, lang=b, bottom=1, top=1)):
            in_place = files_of(call())
            with copying():
                self.assertEqual(in_place, files_of(call()))

    def test_equal_tensors_are_told_from_others_by_their_bytes(self) -> None:
        # A head of other values than the embeddings must not be taken for tied.
        model = expert(1)
        head = {**model, "lm_head.weight": model["model.embed_tokens.weight"] + 1}
        tied = {**model, "lm_head.weight": model["model.embed_tokens.weight"].copy()}
        config = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "tie_word_embeddings": True}
        for tensors in (head, tied):
            call = lambda tensors=tensors: layerloom.relayout(layerloom.Model(tensors, config=config))
            in_place = files_of(call())
            with copying():
                self.assertEqual(in_place, files_of(call()))

    def test_any_tensor_that_is_not_its_bytes_in_order_is_copied_with_its_model(self) -> None:
        import numpy

        name = "model.layers.0.mlp.up_proj.weight"
        right = expert(1)
        cases = {
            "strided": numpy.asfortranarray(right[name]),
            "every second": numpy.repeat(right[name], 2, axis=0)[::2],
            "big-endian": right[name].astype(">f4"),
        }
        expected = files_of(layerloom.relayout(right))
        for case, array in cases.items():
            with self.subTest(case), watched() as found:
                self.assertEqual(files_of(layerloom.relayout({**right, name: array})), expected)
                self.assertEqual(found, [False])

    def test_a_mapping_that_makes_its_arrays_at_each_look_up_is_copied_one_by_one(self) -> None:
        held = expert(1)

        class Made(Mapping[str, Any]):
            def __getitem__(self, name: str) -> Any:
                return held[name].copy()

            def __iter__(self) -> Iterator[str]:
                return iter(held)

            def __len__(self) -> int:
                return len(held)

        with watched() as found:
            self.assertEqual(files_of(layerloom.relayout(Made())), files_of(layerloom.relayout(held)))
        self.assertEqual(found, [True])

    def test_models_that_a_sequence_makes_at_each_access_are_told_apart(self) -> None:
        class Made(list[int]):
            def __iter__(self) -> Iterator[Any]:
                return (expert(seed, rows=8) for seed in range(8))

        for read in (contextlib.nullcontext, copying):
            with read():
                made, held = (
                    files_of(layerloom.merge({"method": "soup", "models": models})) for models in (Made(), list(Made()))
                )
            self.assertEqual(*({name: one for name, one in files.items() if name != "layerloom.json"} for files in (made, held)))

    def test_tensors_without_elements_or_dimensions_shared_read_only_and_from_files_are_read_in_place(self) -> None:
        import numpy

        one = numpy.arange(64, dtype="float32")
        one.tofile("numbers")
        shared = {
            "a": one,
            "b": one[16:32],
            "empty": numpy.zeros((0, 5), "float32"),
            "scalar": numpy.array(2.5, "float32"),
            "last": numpy.array(7, "int8"),
            "odd": numpy.frombuffer(b"\0" * 9, "float32", 2, 1),
            "file": numpy.memmap("numbers", "float32", "r"),
        }
        with watched() as found:
            in_place = files_of(layerloom.relayout(shared))
        self.assertEqual(found, [True])
        with copying():
            self.assertEqual(in_place, files_of(layerloom.relayout(shared)))

    def test_without_permission_tensors_are_copied(self) -> None:
        tensors = expert(1)
        expected = files_of(layerloom.relayout(tensors))
        layerloom.close()
        opened = os.open

        def refuse(path: Any, *given: Any, **named: Any) -> int:
            if path == "/proc/self/mem":
                raise PermissionError(13, "refused", path)
            return opened(path, *given, **named)

        with mock.patch.object(_memory.os, "open", refuse), watched() as found:
            self.assertEqual(files_of(layerloom.relayout(tensors)), expected)
        self.assertEqual(found, [False])
        # The engine that was started without the memory is asked for tensors in place.
        with self.assertRaisesRegex(layerloom.LayerloomError, "the memory of the calling process is not open"):
            layerloom.relayout(tensors)

    def test_memory_that_cannot_be_read_is_not_handed_over(self) -> None:
        hidden = mmap.mmap(-1, mmap.PAGESIZE)
        address = ctypes.addressof(ctypes.c_char.from_buffer(hidden))
        with _memory.own_memory() as memory:
            assert memory is not None
            self.assertTrue(_memory.is_readable(memory, _memory.Part(mmap.PAGESIZE, address, hidden)))
            for nbytes, place in ((8, 0), (8, 4096), (1 << 53, address), (8, (1 << 63) - 9), (8, 1 << 64)):
                self.assertFalse(_memory.is_readable(memory, _memory.Part(nbytes, place, None)))

    def test_memory_freed_during_the_call_is_an_error_that_names_the_model(self) -> None:
        import numpy

        system = ctypes.CDLL(None, use_errno=True)
        system.mmap.restype = ctypes.c_void_p
        system.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
        system.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        size = 4 << 20
        ask = _engine.ask
        for freed in (0, size - mmap.PAGESIZE):
            place = system.mmap(None, size, 3, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
            array = numpy.frombuffer((ctypes.c_char * size).from_address(place), "float32")
            tensors = {**expert(1), "model.layers.3.mlp.up_proj.weight": array}

            def free(*given: Any) -> Any:
                system.munmap(place + freed, size - freed)
                return ask(*given)

            with mock.patch.object(_engine, "ask", free), self.assertRaises(layerloom.LayerloomError) as caught:
                layerloom.soup([layerloom.Model(tensors, name="freed")])
            self.assertEqual(caught.exception.code, "READ_FAILED")
            self.assertRegex(str(caught.exception), r"^freed/model\.safetensors .*(no longer in memory|Bad address)")
            if freed:
                system.munmap(place, freed)
        self.assertEqual(self.left(), [])

    def test_arrays_live_until_the_call_ends(self) -> None:
        import numpy

        class Made:
            """Makes an array on each request, as other libraries do."""

            dtype, shape = numpy.dtype("float32"), (64,)

            def __array__(self, *_: Any, **__: Any) -> Any:
                return numpy.arange(64, dtype="float32")

        with watched() as found:
            merged = layerloom.relayout({"made": Made()})
        self.assertEqual(found, [True])
        self.assertEqual(merged["made"].tolist(), list(range(64)))

    def test_calls_that_read_files_again_and_calls_that_run_beside_python_copy(self) -> None:
        tensors = expert(1)
        with watched() as found:
            layerloom.relayout(tensors, out="merged", checksums=True)
            asyncio.run(aio.relayout(tensors))
            layerloom.diff(tensors, dict(tensors))
        self.assertEqual(found, [])

    def test_threads_and_forked_processes_read_their_own(self) -> None:
        import numpy

        name = "model.layers.0.mlp.up_proj.weight"
        wrong: list[int] = []

        def merge(value: int) -> None:
            for _ in range(3):
                if set(layerloom.relayout({name: numpy.full(5000, value, "float32")})[name].tolist()) != {value}:
                    wrong.append(value)

        threads = [threading.Thread(target=merge, args=(value,)) for value in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])
        array = numpy.full(5000, 1, "float32")
        child = os.fork()
        if child == 0:
            array[:] = 9
            is_own = set(layerloom.relayout({name: array})[name].tolist()) == {9}
            layerloom.close()
            os._exit(0 if is_own else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual(set(layerloom.relayout({name: array})[name].tolist()), {1})

    def test_the_engine_keeps_the_memory_from_its_own_children(self) -> None:
        layerloom.relayout(expert(1))
        (engine,) = _engine.running
        places = Path(f"/proc/{engine.process.pid}/fd")
        memory = [number for number in os.listdir(places) if os.readlink(places / number).endswith("/mem")]
        self.assertEqual(len(memory), 1)
        flags = re.search(r"flags:\s+(\d+)", Path(f"/proc/{engine.process.pid}/fdinfo/{memory[0]}").read_text())
        assert flags is not None
        self.assertEqual(int(flags[1], 8) & (os.O_CLOEXEC | os.O_ACCMODE), os.O_CLOEXEC | os.O_RDONLY)


if sys.platform != "linux":
    del InPlace

if __name__ == "__main__":
    unittest.main()
