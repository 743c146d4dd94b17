"""Makes a command line of a call's arguments, and waits for its result."""

import concurrent.futures
import contextlib
import os
import queue
from collections.abc import Callable, Generator, Sequence
from typing import Any, Literal, TypeAlias

from . import _engine
from ._progress import Bar

StrPath: TypeAlias = str | os.PathLike[str]

Numbers: TypeAlias = str | Sequence[float]
"""Numbers, or a word or a text that stands for them: `[2, 1]`, `"2,1"`, `"magnitude"`."""

Progress: TypeAlias = Callable[[dict[str, Any]], object] | Literal[True] | None
"""A function that is given `{"phase", "done", "total", …}` and the events of experiments; True: a bar of tqdm."""

One: TypeAlias = float | StrPath


def text_of(value: One) -> str:
    """Spells a value as the command line takes it: integers without a point."""
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    try:
        return str(int(value)) if float(value).is_integer() else str(value)
    except TypeError:
        raise TypeError(f"expected a text, a path, a number or a list of these, not {value!r}") from None


def several(value: One | Sequence[One] | None) -> list[str]:
    """The texts of an argument that may have several values: one alone needs no list."""
    if value is None:
        return []
    if isinstance(value, (str, os.PathLike)) or not isinstance(value, Sequence):
        return [text_of(value)]
    return [text_of(one) for one in value]


def option(long: str, value: bool | One | Sequence[One] | None) -> list[str]:
    if value is None or value is False:
        return []
    return [long] if value is True else [f"{long}={','.join(several(value))}"]


def each(long: str, value: One | Sequence[One] | None) -> list[str]:
    """The words of an option that may be given more than once."""
    return [f"{long}={text}" for text in several(value)]


def words_of(
    command: Sequence[str], options: Sequence[Sequence[str]], arguments: Sequence[One | Sequence[One] | None]
) -> list[str]:
    # Behind `--` no argument is taken for an option.
    words = [*command, *(word for one in options for word in one)]
    return [*words, "--", *(text for one in arguments for text in several(one))]


@contextlib.contextmanager
def receiver(progress: Progress) -> Generator[_engine.Listener, None, None]:
    """Gives the function that receives the lines of a call."""
    bar = Bar() if progress is True else None
    show = bar or progress

    def receive(line: dict[str, Any]) -> None:
        if "note" in line:
            _engine.note(line)
        elif show is not None and show is not True:
            show(line["progress"] if "progress" in line else line["event"])

    try:
        yield receive
    finally:
        if bar is not None:
            bar.close()


def call(words: Sequence[str], progress: Progress) -> dict[str, Any]:
    """Runs a command; Ctrl-C, and what `progress` raises, stop it, and are raised when nothing is left of it."""
    lines: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
    with receiver(progress) as receive:
        asked = _engine.ask(words, lines.put)
        asked.result.add_done_callback(lambda _: lines.put(None))
        try:
            while (line := lines.get()) is not None:
                receive(line)
        except BaseException:
            asked.stop()
            concurrent.futures.wait([asked.result])
            raise
        return asked.result.result()
