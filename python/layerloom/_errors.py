"""Exceptions and warnings of calls."""

import contextlib
import errno
from collections.abc import Generator, Mapping
from typing import Any


class LayerloomError(Exception):
    """A refused or failed call.

    `code` and `details` are as in docs/errors.md. `exit_code` is the exit code of the same command: 1 failed,
    2 usage or recipe, 3 incompatible or corrupt input, 130 interrupted.
    """

    # Tracebacks show the name for `except` clauses.
    __module__ = "layerloom"

    def __init__(self, code: str, message: str, details: Mapping[str, Any], exit_code: int) -> None:
        super().__init__(code, message, details, exit_code)
        self.code = code
        self.message = message
        self.details = details
        self.exit_code = exit_code

    def __str__(self) -> str:
        return self.message


class EngineEnded(LayerloomError):
    """The engine's process ended during a call, for example because it was killed. The next call starts
    another."""

    __module__ = "layerloom"

    def __init__(self, exit_code: int) -> None:
        how = f"by signal {-exit_code}" if exit_code < 0 else f"with exit code {exit_code}"
        message = f"the engine ended {how} during the call; the next call starts another"
        super().__init__("ENGINE_ENDED", message, {"exit_code": exit_code}, 1)

    def __reduce__(self) -> tuple[type["EngineEnded"], tuple[int]]:
        return EngineEnded, (self.details["exit_code"],)


class LayerloomWarning(UserWarning):
    """A warning, as the command line prints after `warning: `."""

    __module__ = "layerloom"


@contextlib.contextmanager
def named(place: str) -> Generator[None, None, None]:
    """Puts the name of an argument before the message of an error about its value."""
    try:
        yield
    except (TypeError, ValueError) as error:
        error.args = (f"{place}: {error}",)
        raise


@contextlib.contextmanager
def system_limits(what: str) -> Generator[None, None, None]:
    """Raises the system's errors for missing descriptors or room as LayerloomError, with the name of the resource."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE):
            remedy = "let this process open more (resource.setrlimit, ulimit -n), or close other files"
            raise LayerloomError("READ_FAILED", f"{what}: too many open files; {remedy}", {"file": what}, 3) from error
        if error.errno == errno.ENOSPC:
            raise LayerloomError("WRITE_FAILED", f"{what} cannot be written: no space left", {"file": what}, 1) from error
        if error.filename is None:
            raise OSError(error.errno, f"{what}: {error.strerror}") from error
        raise
