"""Directories of one call, in memory if there is room. The engine removes them however the call ends."""

import contextlib
import os
import shutil
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from . import _engine
from ._errors import EngineEnded, LayerloomError
from ._memory import Part


class Scratch(contextlib.ExitStack):
    """The directories of a call. They are removed at its end; if Python is killed, by the engine; if both are killed,
    by the next engine."""

    def __init__(self, *, in_place: bool = False) -> None:
        """
        Args:
            in_place: whether the engine may read tensors where they lie
        """
        super().__init__()
        self.in_place = in_place
        self.memory: dict[str, list[Part]] = {}
        """Files of models that lie in this process's memory."""
        self.models: dict[tuple[int, str | None], tuple[Any, str]] = {}
        """Written models with their directories, by `id` and own name. Holding a model keeps its `id` from being
        reused."""
        self.engines: set[_engine.Engine] = set()
        """Engines that keep a directory of the call."""

    def directory(self, size: int) -> str:
        """Makes a directory for `size` bytes.

        Raises:
            LayerloomError: DISK_SPACE
        """
        # Imported here, because the import is slow and few calls need it.
        import tempfile

        name = f".layerloom-scratch-{os.urandom(16).hex()}"
        beside = tempfile.gettempdir()
        made = _engine.ask_scratch(size, beside, name)
        self.engines.add(made.engine)
        self.callback(release, made, [os.path.join(root, name) for root in ("/dev/shm", beside)])
        directory: str = made.result.result()["directory"]
        self.enter_context(_engine.unnamed(directory))
        return directory

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        """Replaces an error by EngineEnded if an engine ended: the next engine removes its directories."""
        super().__exit__(kind, error, traceback)
        ended = [code for engine in self.engines if (code := engine.process.poll()) is not None]
        if ended and isinstance(error, (LayerloomError, OSError)) and not isinstance(error, EngineEnded):
            raise EngineEnded(ended[0]) from error


def release(made: _engine.Call, places: Sequence[str]) -> None:
    """Removes a directory that a killed engine has made. A running engine removes a directory even if it does not exist
    yet."""
    if made.result.done():
        for place in places:
            shutil.rmtree(place, ignore_errors=True)
    made.release()
