"""Waits for the result of a call in an event loop."""

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Any

from . import _engine
from ._call import Progress, receiver


async def call_async(words: Sequence[str], progress: Progress) -> dict[str, Any]:
    """As `_call.call`; a task that is cancelled stops the command."""
    loop = asyncio.get_running_loop()
    failed: asyncio.Future[None] = loop.create_future()
    with receiver(progress) as receive:

        def take(line: dict[str, Any]) -> None:
            try:
                receive(line)
            except Exception as error:
                if not failed.done():
                    failed.set_exception(error)

        def listen(line: dict[str, Any]) -> None:
            # A loop that was closed meanwhile has nobody who listens.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(take, line)

        asked = _engine.ask(words, listen)
        result = asyncio.wrap_future(asked.result, loop=loop)
        try:
            either: list[asyncio.Future[Any]] = [result, failed]
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if failed.done():
                failed.result()
            return result.result()
        finally:
            if not result.done():
                asked.stop()
                await asyncio.wait([result])
                result.exception()
