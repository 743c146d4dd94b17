"""Common parts of the Python package's tests.

The environment variable REPEATS says how often to repeat calls that may leave something behind (default 5).
"""

import json
import os
import sys
import tempfile
import time
import unittest
from collections.abc import Callable, Iterable
from pathlib import Path

import layerloom
from smoke_models import write_expert

REPEATS = int(os.environ.get("REPEATS", "5"))
COMMAND = str(Path(sys.executable).with_name("layerloom"))


def processes() -> set[int]:
    found: set[int] = set()
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if b"serve-calls" in file.read_bytes() and str(Path(layerloom.__file__).parent).encode() in file.read_bytes():
                found.add(int(file.parent.name))
        except OSError:
            continue
    return found


def scratches(engines: Iterable[int]) -> list[str]:
    pids = set(engines)
    found: list[str] = []
    for place in {"/dev/shm", tempfile.gettempdir()}:
        for owner in Path(place).glob(".layerloom-scratch-*/owner.json"):
            try:
                if json.loads(owner.read_text())["pid"] in pids:
                    found.append(str(owner.parent))
            except (OSError, ValueError):
                # Another process makes or removes it.
                continue
    return found


def until(condition: Callable[[], bool], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.005)


class Workplace(unittest.TestCase):

    def setUp(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        os.chdir(self.directory.name)
        write_expert("a", 1)
        write_expert("b", 3)
        write_expert("other", 3, layers=5)
        Path("empty").write_text("")
        Path("full").mkdir()
        Path("full/file").write_text("")
        Path("wrong.yaml").write_text("method: linnear\nmodels: [./a, ./b]\n")
        Path("right.yaml").write_text("method: soup\nmodels: [./a, ./b]\n")

    def tearDown(self) -> None:
        layerloom.close()
        os.chdir("/")
        self.directory.cleanup()

    def large(self) -> None:
        for index, name in enumerate(("large-a", "large-b")):
            write_expert(name, index + 1, elements=16 << 20)

    def left(self) -> list[str]:
        return [name for name in os.listdir() if name.startswith(("merged", ".merged"))]
