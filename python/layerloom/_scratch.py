"""Directories of one call, in memory where there is room, that the engine removes however the call ends."""

import contextlib
import shutil

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

        made = _engine.ask_scratch(size, tempfile.gettempdir())
        self.callback(release, made)
        directory: str = made.result.result()["directory"]
        return directory


def release(made: _engine.Call) -> None:
    """Removes a directory; one that is not known yet the engine removes, when it has made it."""
    if made.result.done() and made.result.exception() is None:
        shutil.rmtree(made.result.result()["directory"], ignore_errors=True)
    made.release()
