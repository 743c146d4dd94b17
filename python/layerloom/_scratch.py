"""Directories of one call, in memory where there is room, that the engine removes however the call ends."""

import contextlib
import os
import shutil
from collections.abc import Sequence
from types import TracebackType

from . import _engine
from ._errors import EngineEnded, LayerloomError


class Scratch(contextlib.ExitStack):
    """The directories of a call, removed at its end; if Python is killed, by the engine; if both are, by the next."""

    def __init__(self) -> None:
        super().__init__()
        self.models: dict[int, str] = {}
        """Directories of models that were written already, by `id`."""
        self.engines: set[_engine.Engine] = set()
        """Engines that keep a directory of the call."""

    def directory(self, size: int) -> str:
        """Makes one for so many bytes.

        Raises:
            LayerloomError: DISK_SPACE
        """
        # Here, since it imports much that few calls need.
        import tempfile

        name = f".layerloom-scratch-{os.urandom(16).hex()}"
        beside = tempfile.gettempdir()
        made = _engine.ask_scratch(size, beside, name)
        self.engines.add(made.engine)
        self.callback(release, made, [os.path.join(root, name) for root in ("/dev/shm", beside)])
        directory: str = made.result.result()["directory"]
        return directory

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        """Raises EngineEnded in the place of an error that the lost directories of an ended engine caused: the next engine removes them."""
        super().__exit__(kind, error, traceback)
        ended = [code for engine in self.engines if (code := engine.process.poll()) is not None]
        if ended and isinstance(error, (LayerloomError, OSError)) and not isinstance(error, EngineEnded):
            raise EngineEnded(ended[0]) from error
        return False


def release(made: _engine.Call, places: Sequence[str]) -> None:
    """Removes a directory, wherever an engine that was killed has made it; one that is still to be made the engine removes."""
    if made.result.done():
        for place in places:
            shutil.rmtree(place, ignore_errors=True)
    made.release()
