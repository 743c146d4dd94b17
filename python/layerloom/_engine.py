"""Runs commands in one engine process. The first call starts it, and a later call starts another if it has ended.

src/cli/serve.ts describes the lines of JSON on its pipes. An engine runs one command at a time, in the order of its
calls. Calls that only read use a second engine while the first engine writes. Each watched report has its own engine.
"""

import atexit
import contextlib
import itertools
import json
import logging
import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future
from types import FrameType
from typing import Any, Literal, TypeAlias

from ._errors import EngineEnded, LayerloomError, LayerloomWarning, system_limits
from ._memory import Part, own_memory
from ._program import entry, environment, find_node

logger = logging.getLogger("layerloom")

Listener = Callable[[dict[str, Any]], None]
"""Receives a call's lines, except the last, in the order in which they were written."""


Work: TypeAlias = Literal["reads", "writes", "watches"]
"""The kind of work of a call. A watching call never ends; a call of no kind (None) waits for no other call."""


class Call:

    def __init__(self, engine: "Engine", number: int, listener: Listener, work: Work | None) -> None:
        self.engine = engine
        self.number = number
        self.listener = listener
        self.work: Work | None = work
        self.out: str | None = None
        self.result: Future[dict[str, Any]] = Future()

    def stop(self) -> None:
        """Interrupts the command like Ctrl-C. `result` then fails with INTERRUPTED after cleaning up."""
        self.engine.write({"stop": self.number})

    def release(self) -> None:
        """Lets the engine remove the directory of this call, once it exists."""
        self.engine.write({"release": self.number})


class Engine:
    """An engine process. Only this process has its pipes, so it ends however this process ends."""

    def __init__(self) -> None:
        # Answers have their own pipe, because plugins and libraries may print to stdout.
        self.answers, theirs = os.pipe()
        try:
            # The engine has its own session, so Ctrl-C in a terminal reaches only Python, which stops the call.
            with own_memory() as memory:
                passed = [theirs] if memory is None else [theirs, memory]
                self.process = subprocess.Popen(
                    [find_node(), entry, "serve-calls", *map(str, passed)],
                    stdin=subprocess.PIPE,
                    pass_fds=passed,
                    # Pipes are unbuffered, because a forked process may find a buffer's lock held for ever.
                    bufsize=0,
                    start_new_session=True,
                )
        except BaseException:
            os.close(self.answers)
            raise
        finally:
            os.close(theirs)
        self.lock = threading.Lock()
        self.calls: dict[int, Call] = {}
        self.ended = False
        self.thread = threading.Thread(target=self.read, name="layerloom engine", daemon=True)
        self.thread.start()

    def write(self, line: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        rest = json.dumps(line).encode() + b"\n"
        try:
            with self.lock:
                while rest:
                    rest = rest[self.process.stdin.write(rest) :]
        except (BrokenPipeError, ValueError):
            # The process has ended: `read` fails the calls.
            pass
        except BaseException:
            # Ctrl-C cut a line, so later lines cannot be parsed.
            self.process.kill()
            raise

    def work(self) -> set[Work]:
        """Returns the kinds of work of unfinished calls, except calls that wait for no other call."""
        return {call.work for call in list(self.calls.values()) if call.work is not None}

    def ask(self, number: int, request: dict[str, Any], listener: Listener, work: Work | None) -> Call | None:
        """Sends a request, or returns None if the process has ended."""
        call = Call(self, number, listener, work)
        call.out = next(iter(paths_of(request, ("--out",))), None) if work == "writes" else None
        with self.lock:
            if self.ended or self.process.poll() is not None:
                return None
            self.calls[number] = call
        self.write(request)
        return call

    def read(self) -> None:
        """Hands each line to its call, until the process ends. An invalid line ends the process, because other lines
        may be lost."""
        try:
            for text in lines_of(self.answers):
                self.hand_over(text)
        except Exception:
            logger.exception("the engine is ended: it wrote what is no answer")
            self.process.kill()
        exit_code = self.process.wait()
        with self.lock:
            self.ended = True
        assert self.process.stdin is not None
        self.process.stdin.close()
        os.close(self.answers)
        # Removes the call first, because its caller may ask again at once.
        calls, self.calls = self.calls, {}
        for call in calls.values():
            call.result.set_exception(EngineEnded(exit_code))

    def hand_over(self, text: bytes) -> None:
        """Hands a line to its call. Forgets a call that has its result, so that it does not fail when the process
        ends."""
        for place in list(unnamed_places):
            text = text.replace(place, b"")
        line: dict[str, Any] = json.loads(text)
        call = self.calls[line["call"]]
        if "error" in line or "result" in line:
            # Ends the call here, because the caller may ask again at once.
            call.work = None
            finish(call, line)
            del self.calls[call.number]
        elif line.keys() & {"note", "progress", "event"}:
            call.listener(line)
        else:
            raise ValueError("a line without an answer")

    def close(self) -> None:
        """Ends the process, and waits until it has cleaned up."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.thread.join()


def lines_of(pipe: int) -> Iterator[bytes]:
    """Reads lines of any length, copying each byte once."""
    parts: list[bytes] = []
    while chunk := os.read(pipe, 1 << 16):
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            yield b"".join([*parts, line])
            parts.clear()
        parts.append(rest)


def finish(call: Call, line: dict[str, Any]) -> None:
    if "result" in line:
        call.result.set_result(line["result"])
        return
    error = line["error"]
    for warning in error["warnings"]:
        call.listener({"note": f"warning: {warning}"})
    call.result.set_exception(LayerloomError(error["code"], error["message"], error["details"], error["exitCode"]))


numbers = itertools.count()
starting = threading.Lock()
running: list[Engine] = []
unnamed_places: set[bytes] = set()


@contextlib.contextmanager
def unnamed(directory: str) -> Generator[None, None, None]:
    """Removes a directory from the engine's answers, so that they name a model there without its path."""
    place = json.dumps(os.path.join(directory, ""), ensure_ascii=False)[1:-1].encode(errors="surrogateescape")
    unnamed_places.add(place)
    try:
        yield
    finally:
        unnamed_places.discard(place)


def ask(words: Sequence[str], listener: Listener, work: Work = "writes", memory: Mapping[str, Sequence[Part]] | None = None) -> Call:
    """Runs a command.

    Args:
        memory: files that lie in this process's memory
    """
    places = {path: [(part.nbytes, part.address) for part in parts] for path, parts in (memory or {}).items()}
    with system_limits("the working directory"):
        request = {"words": list(words), "directory": os.getcwd(), "environment": environment(), "memory": places}
    return send("call", request, listener, work)


def ask_scratch(size: int, beside: str, name: str) -> Call:
    """Asks for a directory of this size, in memory if there is room; its result is `{"directory"}`."""
    return send("scratch", {"bytes": size, "beside": beside, "name": name}, lambda _: None, None)


def send(kind: str, request: dict[str, Any], listener: Listener, work: Work | None) -> Call:
    """Sends a request; starts an engine if necessary."""
    with starting:
        if work == "reads" and request["words"][0] not in ("report", "table"):
            # Waits for a call that writes files which this call reads. Reports and tables do not wait, because they may
            # read growing studies.
            written = {call.out for engine in running for call in list(engine.calls.values()) if call.work == "writes"}
            work = "reads" if written.isdisjoint(paths_of(request)) else "writes"
        while True:
            engine = engine_for(work)
            number = next(numbers)
            call = engine.ask(number, {kind: number, **request}, listener, work)
            if call is not None:
                return call
            running.remove(engine)


def paths_of(request: dict[str, Any], options: Sequence[str] = ()) -> list[str]:
    """Returns the paths among a command's words: all words, or the values of these options."""
    given: list[str] = request.get("words", [])
    words = [word.partition("=") for word in given[1:]]
    named = [value if name.startswith("--") else name + equals + value for name, equals, value in words if not options or name in options]
    return [os.path.realpath(os.path.join(request["directory"], one)) for one in named if "\0" not in one]


def engine_for(work: Work | None) -> Engine:
    """Returns an engine with calls of this kind of work, else an engine without calls, else a new engine."""
    same = [] if work == "watches" else [engine for engine in running if work in engine.work()]
    free = [engine for engine in running if work is None or not engine.work()]
    if not same and not free:
        with system_limits("the engine's process"):
            running.append(Engine())
        return running[-1]
    return [*same, *free][0]


def note(line: dict[str, Any]) -> None:
    """Passes on a message: warnings to `warnings`, all others to the logger `layerloom`."""
    text: str = line["note"]
    if text.startswith("warning: "):
        warn(text.removeprefix("warning: "))
    else:
        logger.info(text)


def warn(text: str) -> None:
    warnings.warn(text, LayerloomWarning, stacklevel=calls_of_package())


def calls_of_package() -> int:
    """Returns the `stacklevel` of the package's caller, as seen by the calling function."""
    package = __name__.partition(".")[0] + "."
    frame: FrameType | None = sys._getframe(1)
    level = 1
    while frame is not None and f"{frame.f_globals.get('__name__')}.".startswith(package):
        frame, level = frame.f_back, level + 1
    return level


def close() -> None:
    """Ends the engine's process, if any; the next call starts another."""
    with starting:
        engines = [*running]
        running.clear()
    for engine in engines:
        engine.close()


def forget() -> None:
    """Leaves the engine to the parent of a forked process, which starts its own."""
    global starting
    starting = threading.Lock()
    for engine in running:
        # Closes the child's copy of the pipe. Otherwise the engine would outlive the parent, because its input ends
        # with the last copy.
        assert engine.process.stdin is not None
        engine.process.stdin.close()
        os.close(engine.answers)
        # The parent waits for the process's end.
        engine.process.returncode = 0
    running.clear()


os.register_at_fork(after_in_child=forget)
atexit.register(close)
