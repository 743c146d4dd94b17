"""Makes the functions of `_commands.json`, and runs their calls."""

import concurrent.futures
import contextlib
import inspect
import json
import os
import queue
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeAlias, cast
from typing import Literal as Literal

from . import _engine, results
from ._check import Command, Parameter, default_of, values_of
from ._errors import LayerloomError, named
from ._memory import may_read
from ._merged import Merged, StrPath
from ._model import Model, ModelLike, hint_of, in_memory, named_models, path_of, text_of_experiment, text_of_recipe
from ._plain import Array, dtype_of, mapping_of
from ._plain import Dtype as Dtype
from ._progress import Bar
from ._result import Result, fits, show_as_dictionaries, typed
from ._scratch import Scratch
from ._words import Held, Word, each, option, several, texts_of

Numbers: TypeAlias = str | Sequence[float] | Array
"""Numbers in any form: `[2, 1]`, `"2,1"`, an array; or a word such as `"magnitude"`."""

Layers: TypeAlias = str | int | Sequence[int] | Array
"""Layer numbers: `[0, 1, 30]`, `"0-4,30"`, an array."""

Settings: TypeAlias = str | Sequence[str] | Mapping[str, Any]
"""Settings of an experiment's `evaluate:`: `{"fewshot": 8}`, `"fewshot=8"`, or a list of such texts."""

Progress: TypeAlias = Callable[[dict[str, Any]], object] | bool | None
"""A function that receives `{"phase", "done", "total", …}` and events of experiments; True draws a tqdm bar."""


class Configuration(Protocol):
    """A recipe as an object of pydantic: `MergeConfiguration` of mergekit."""

    def model_dump(self) -> dict[str, Any]: ...


Recipe: TypeAlias = StrPath | Mapping[str, Any] | Configuration
"""The file of a recipe, or the recipe itself, in which models may be in memory."""

Experiment: TypeAlias = StrPath | Mapping[str, Any]
"""The file of an experiment, or the experiment itself."""


class Request(NamedTuple):
    words: Sequence[Word]
    progress: Progress
    in_memory: bool
    """True if the call returns a checkpoint in memory."""
    work: _engine.Work
    returns: str
    """Names of the result's classes, with `|` between them."""


def functions(module: str, run: Callable[[Request], Any]) -> dict[str, object]:
    """Returns the contents of a module with a function for each command; coroutines if `run` is one."""
    path = os.path.join(os.path.dirname(__file__), "_commands.json")
    with open(path, encoding="utf-8") as file:
        commands: dict[str, Command] = json.load(file)
    made = {name: function_of(name, command, module, run) for name, command in commands.items()}
    return {**made, "__all__": [*made]}


def function_of(name: str, command: Command, module: str, run: Callable[[Request], Any]) -> Any:
    def call(*args: Any, **given: Any) -> Any:
        return run(request_of(name, command, args, given))

    async def call_async(*args: Any, **given: Any) -> Any:
        return await run(request_of(name, command, args, given))

    function: Any = call_async if inspect.iscoroutinefunction(run) else call
    signature = signature_of(command)
    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    function.__doc__ = command["words"]
    function.__annotations__ = {
        **{parameter.name: parameter.annotation for parameter in signature.parameters.values()},
        "return": signature.return_annotation,
    }
    function.__signature__ = signature
    return function


def signature_of(command: Command) -> inspect.Signature:
    parameters = [
        inspect.Parameter(
            parameter["name"],
            inspect.Parameter.KEYWORD_ONLY if "long" in parameter else inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=default_of(parameter) if "default" in parameter else inspect.Parameter.empty,
            annotation=parameter["type"],
        )
        for parameter in command["parameters"]
    ]
    # Required options come first.
    parameters.sort(key=lambda one: (one.kind, one.kind == one.KEYWORD_ONLY and one.default is not one.empty))
    progress = inspect.Parameter("progress", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="Progress")
    classes = [*(f"results.{one}" for one in types_of(command)), *(["Merged"] if "unless" in command else [])]
    return inspect.Signature([*parameters, progress], return_annotation=" | ".join(classes))


def types_of(command: Command) -> list[str]:
    return [*dict.fromkeys(one for _, names in command["returns"] for one in names.split(" | "))]


def request_of(name: str, command: Command, args: Sequence[Any], given: Mapping[str, Any]) -> Request:
    values = values_of(name, command, args, given)
    unless = command.get("unless")
    in_memory = unless is not None and not any(is_given(values[one]) for one in unless)
    form, returns = next(one for one in command["returns"] if one[0] == "" or is_given(values[one[0]]))
    # Commands that write files with `out`, which other calls may need.
    writes = is_given(values.get("out")) and command["command"] not in ("report", "verify")
    reads = form in ("dry_run", "explain", "print") or (command["command"] in READS and not writes)
    work: _engine.Work = "watches" if is_given(values.get("watch")) else "reads" if reads else "writes"
    words = words_of(name, command, values)
    if name == "suggest" and is_given(values["out"]) and any(isinstance(word, Held) for word in words):
        raise TypeError("suggest(): an experiment's models are read again when they are scored: with out, give paths or names of the hub")
    return Request(words, values["progress"], in_memory, work, returns)


READS = ("analyze", "diff", "inspect", "partition", "report", "suggest", "table", "verify")


def is_given(value: Any) -> bool:
    return value is not None and value is not False


def words_of(name: str, command: Command, values: Mapping[str, Any]) -> list[Word]:
    options: list[Word] = [command["command"]]
    arguments: list[Word] = []
    for parameter in command["parameters"]:
        with named(f"{name}(): {parameter['name']}"):
            value = spelt(parameter, values[parameter["name"]])
            if "long" in parameter:
                options += (each if "several" in parameter else option)(parameter["long"], value)
                continue
            words = several(value)
            if not words and "default" not in parameter:
                raise ValueError("expected at least one, got none")
            arguments += words
    # After `--`, no argument is read as an option.
    return [*options, "--", *arguments]


def spelt(parameter: Parameter, value: Any) -> Any:
    """Replaces models, recipes and experiments in memory by command-line words."""
    of = parameter["type"]
    if "model" in parameter:
        if value is None:
            return None
        return each_model(value, parameter["model"]) if "Sequence" in of else held(value, parameter["model"])
    if "Dtype" in of:
        return dtype_of(value) or value
    if of == "Experiment" and isinstance(value, Mapping):
        return text_of_experiment(cast("Mapping[str, Any]", value))
    if of.startswith("Settings") and isinstance(value, Mapping):
        return settings_of(cast("Mapping[str, Any]", value))
    return recipe_of(value) if of == "Recipe" else value


def settings_of(settings: Mapping[str, Any]) -> Sequence[str]:
    """Spells each setting as KEY=VALUE, the value as JSON."""
    plain: dict[str, Any] = json.loads(text_of_experiment(settings))
    return [f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in plain.items()]


def each_model(value: ModelLike | Sequence[ModelLike], name: str) -> Sequence[StrPath | Held]:
    if isinstance(value, Mapping) and len(value) > 0 and not in_memory(value):
        return [Held(partial(path_of, one, own, own=own)) for one, own in named_models(value)]
    if isinstance(value, (str, os.PathLike)) or not isinstance(value, Sequence):
        return [held(value, f"{name}-1")]
    each_of: list[StrPath | Held] = []
    for index, one in enumerate(value):
        with named(f"item {index}"):
            each_of.append(held(one, f"{name}-{index + 1}"))
    return each_of


def held(value: ModelLike, name: str) -> StrPath | Held:
    """Returns a model as a command-line word. A model in memory is written under this name when the call begins."""
    if isinstance(value, (str, os.PathLike)):
        return value
    if not in_memory(value):
        if isinstance(value, Mapping) and len(value) > 0:
            Model(value)  # names the entry that is no array
        raise TypeError(f"expected a path, a name of the hub, or a model in memory, got {type(value).__name__}{hint_of(value)}")
    return Held(partial(path_of, value, name))


def recipe_of(recipe: Recipe) -> StrPath | Held:
    contents = None if isinstance(recipe, (str, os.PathLike)) else mapping_of(recipe)
    return cast("StrPath", recipe) if contents is None else Held(partial(text_of_recipe, contents))


def into(directory: str, texts: Sequence[str]) -> list[str]:
    return [texts[0], f"--out={output_in(directory)}", *texts[1:]]


def output_in(directory: str) -> str:
    return os.path.join(directory, "merged")


def other_place(error: LayerloomError, directory: str, scratch: Scratch) -> str:
    """Returns a directory with room for an output that did not fit. Raises an error that has another cause."""
    if error.code != "DISK_SPACE" or error.details["out"] not in ("merged", output_in(directory)):
        raise error
    larger = scratch.directory(error.details["needed"])
    _engine.warn(f"memory has no room for {error.details['needed']} bytes: the merge is in files of {os.path.dirname(larger)}")
    return larger


@contextlib.contextmanager
def receiver(progress: Progress) -> Generator[_engine.Listener, None, None]:
    """Yields the function that receives a call's lines."""
    bar = Bar() if progress is True else None
    show = bar or progress

    def receive(line: dict[str, Any]) -> None:
        if "note" in line:
            _engine.note(line)
        elif callable(show):
            show(line["progress"] if "progress" in line else line["event"])

    try:
        yield receive
    finally:
        if bar is not None:
            bar.close()


def result_of(value: Any, request: Request) -> Any:
    """Converts a command's output to its classes."""
    classes = [getattr(results, name) for name in request.returns.split(" | ")]
    return typed(value, next((one for one in classes if fits(value, one)), Result))


def wait(texts: Sequence[str], request: Request, scratch: Scratch) -> Any:
    """Runs a command. Ctrl-C and errors in `progress` stop it, and are raised after it has cleaned up."""
    lines: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
    with receiver(request.progress) as receive:
        asked = _engine.ask(texts, lines.put, request.work, scratch.memory)
        asked.result.add_done_callback(lambda _: lines.put(None))
        try:
            show_as_dictionaries()
            while (line := lines.get()) is not None:
                receive(line)
        except BaseException:
            asked.stop()
            concurrent.futures.wait([asked.result])
            raise
        return result_of(asked.result.result(), request)


def run(request: Request) -> Result | Merged:
    with Scratch(in_place=may_read(request.words)) as scratch:
        texts = texts_of(request.words, scratch)
        if not request.in_memory:
            result: Result = wait(texts, request, scratch)
            return result
        directory = scratch.directory(0)
        try:
            result = wait(into(directory, texts), request, scratch)
        except LayerloomError as error:
            directory = other_place(error, directory, scratch)
            result = wait(into(directory, texts), request, scratch)
        return Merged(output_in(directory), result)
