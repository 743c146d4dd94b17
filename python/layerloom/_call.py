"""Builds a command line from a call's arguments, and waits for its result."""

import concurrent.futures
import contextlib
import os
import queue
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import partial
from typing import Any, Literal, TypeAlias

from . import _engine
from ._errors import LayerloomError
from ._merged import Merged, StrPath
from ._model import ModelLike, in_memory, items_of, path_of, text_of_experiment, text_of_recipe
from ._numbers import number_of, text_of_number
from ._progress import Bar
from ._scratch import Scratch

Numbers: TypeAlias = str | Sequence[float]
"""Numbers, or a word or a text that stands for them: `[2, 1]`, `"2,1"`, `"magnitude"`."""

Progress: TypeAlias = Callable[[dict[str, Any]], object] | Literal[True] | None
"""A function that is given `{"phase", "done", "total", …}` and the events of experiments; True: a bar of tqdm."""

Recipe: TypeAlias = StrPath | Mapping[str, Any]
"""The file of a recipe, or the recipe itself, in which models may be in memory."""


Experiment: TypeAlias = StrPath | Mapping[str, Any]
"""The file of an experiment, or the experiment itself."""


class Held:
    """A command's word that is known once the models in memory are written."""

    def __init__(self, write: Callable[[Scratch], str], prefix: str = "") -> None:
        self.write = write
        self.prefix = prefix

    def text(self, scratch: Scratch) -> str:
        return self.prefix + self.write(scratch)


One: TypeAlias = float | StrPath | Held

Word: TypeAlias = str | Held


def text_of(value: float | StrPath) -> str:
    """Spells a value as the command line takes it: integers without a point."""
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    number = number_of(value)
    if number is None or isinstance(number, bool):
        raise TypeError(f"expected a text, a path, a number or a list of these, not {value!r}")
    return text_of_number(number)


def several(value: One | Sequence[One] | None) -> list[Word]:
    if value is None:
        return []
    if isinstance(value, (str, os.PathLike, Held)) or number_of(value) is not None:
        return [word_of(value)]
    ordered = items_of(value)
    return [word_of(value)] if ordered is None else [word_of(one) for one in ordered]


def word_of(value: One) -> Word:
    return value if isinstance(value, Held) else text_of(value)


def prefixed(prefix: str, word: Word) -> Word:
    return Held(word.write, prefix) if isinstance(word, Held) else prefix + word


def option(long: str, value: bool | One | Sequence[One] | None) -> list[Word]:
    if value is None or value is False:
        return []
    if value is True:
        return [long]
    if isinstance(value, Held):
        return [prefixed(f"{long}=", value)]
    return [f"{long}={','.join(map(str, several(value)))}"]


def each(long: str, value: One | Sequence[One] | None) -> list[Word]:
    return [prefixed(f"{long}=", word) for word in several(value)]


def one_model(value: ModelLike | None, name: str) -> StrPath | Held | None:
    """A model as an argument; one in memory is written when the call begins, under this name."""
    return None if value is None else held(value, name)


def each_model(value: ModelLike | Sequence[ModelLike] | None, name: str) -> Sequence[StrPath | Held]:
    if value is None:
        return []
    values = [value] if isinstance(value, (str, os.PathLike)) or not isinstance(value, Sequence) else value
    return [held(one, f"{name}-{index + 1}") for index, one in enumerate(values)]


def held(value: ModelLike, name: str) -> StrPath | Held:
    if isinstance(value, (str, os.PathLike)):
        return value
    if not in_memory(value):
        raise TypeError(f"{name}: expected a path, a name of the hub, or a model in memory, got {type(value).__name__}")
    return Held(partial(path_of, value, name))


def recipe_of(recipe: Recipe) -> StrPath | Held:
    return Held(partial(text_of_recipe, recipe)) if isinstance(recipe, Mapping) else recipe


def experiment_of(experiment: Experiment) -> StrPath:
    return text_of_experiment(experiment) if isinstance(experiment, Mapping) else experiment


def words_of(
    command: Sequence[str], options: Sequence[Sequence[Word]], arguments: Sequence[One | Sequence[One] | None]
) -> list[Word]:
    # After `--` no argument is taken for an option.
    words = [*command, *(word for one in options for word in one)]
    return [*words, "--", *(text for one in arguments for text in several(one))]


def texts_of(words: Sequence[Word], scratch: Scratch) -> list[str]:
    return [word.text(scratch) if isinstance(word, Held) else word for word in words]


def into(directory: str, texts: Sequence[str]) -> list[str]:
    return [texts[0], f"--out={output_in(directory)}", *texts[1:]]


def output_in(directory: str) -> str:
    return os.path.join(directory, "merged")


def other_place(error: LayerloomError, directory: str, scratch: Scratch) -> str:
    """Returns a directory with room for an output that did not fit; raises the error if it has another cause."""
    if error.code != "DISK_SPACE" or error.details["out"] != output_in(directory):
        raise error
    larger = scratch.directory(error.details["needed"])
    _engine.warn(f"memory has no room for {error.details['needed']} bytes: the merge is in files of {os.path.dirname(larger)}")
    return larger


@contextlib.contextmanager
def receiver(progress: Progress) -> Generator[_engine.Listener, None, None]:
    """Gives the function that receives a call's lines."""
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


def wait(texts: Sequence[str], progress: Progress) -> dict[str, Any]:
    """Runs a command. Ctrl-C and errors of `progress` stop it, and are raised once it has cleaned up."""
    lines: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
    with receiver(progress) as receive:
        asked = _engine.ask(texts, lines.put)
        asked.result.add_done_callback(lambda _: lines.put(None))
        try:
            while (line := lines.get()) is not None:
                receive(line)
        except BaseException:
            asked.stop()
            concurrent.futures.wait([asked.result])
            raise
        return asked.result.result()


def call(words: Sequence[Word], progress: Progress) -> dict[str, Any]:
    with Scratch() as scratch:
        return wait(texts_of(words, scratch), progress)


def call_in_memory(words: Sequence[Word], progress: Progress) -> Merged:
    with Scratch() as scratch:
        texts = texts_of(words, scratch)
        directory = scratch.directory(0)
        try:
            result = wait(into(directory, texts), progress)
        except LayerloomError as error:
            directory = other_place(error, directory, scratch)
            result = wait(into(directory, texts), progress)
        return Merged(output_in(directory), result)
