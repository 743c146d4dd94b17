"""Directories of one call, in memory where there is room, that the engine removes however the call ends."""

import contextlib
import os
import shutil
from collections.abc import Sequence

from . import _engine


class Scratch(contextlib.ExitStack):
    """The directories of a call, removed at its end; if Python is killed, by the engine; if both are, by the next."""

    def __init__(self) -> None:
        super().__init__()
        self.models: dict[int, str] = {}
        """Directories of models that were written already, by `id`."""

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
        self.callback(release, made, [os.path.join(root, name) for root in ("/dev/shm", beside)])
        directory: str = made.result.result()["directory"]
        return directory


def release(made: _engine.Call, places: Sequence[str]) -> None:
    """Removes a directory, wherever an engine that was killed has made it; one that is still to be made the engine removes."""
    if made.result.done():
        for place in places:
            shutil.rmtree(place, ignore_errors=True)
    made.release()
