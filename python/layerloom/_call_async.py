"""Waits for the result of a call in an event loop."""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from . import _engine
from ._call import Request, into, other_place, output_in, receiver, result_of
from ._errors import LayerloomError
from ._merged import Merged
from ._result import Result as CallResult, show_as_dictionaries
from ._scratch import Scratch
from ._words import Held, Word, texts_of

Result = TypeVar("Result")


async def wait_async(texts: Sequence[str], request: Request) -> Any:
    """Like `_call.wait`; cancelling the task stops the command."""
    loop = asyncio.get_running_loop()
    failed: asyncio.Future[None] = loop.create_future()
    with receiver(request.progress) as receive:

        def take(line: dict[str, Any]) -> None:
            try:
                receive(line)
            except Exception as error:
                if not failed.done():
                    failed.set_exception(error)

        def listen(line: dict[str, Any]) -> None:
            # A closed event loop cannot receive the result.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(take, line)

        asked = _engine.ask(texts, listen, request.work)
        result = asyncio.wrap_future(asked.result, loop=loop)
        try:
            show_as_dictionaries()
            either: list[asyncio.Future[Any]] = [result, failed]
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if failed.done():
                failed.result()
            return result_of(result.result(), request)
        finally:
            if not result.done():
                asked.stop()
                await asyncio.wait([result])
                result.exception()


async def in_thread(work: Callable[[], Result]) -> Result:
    """Does blocking work in a thread. A cancelled task waits until the work ends, because it writes files."""
    working = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        await asyncio.wait([working])
        # Ignored, because the task is being cancelled.
        working.exception()
        raise


async def texts_async(words: Sequence[Word], scratch: Scratch) -> list[str]:
    # Without models in memory the command starts at once, so it gets the working directory of the call.
    held = any(isinstance(word, Held) for word in words)
    return await in_thread(lambda: texts_of(words, scratch)) if held else texts_of(words, scratch)


async def run_async(request: Request) -> CallResult | Merged:
    """As `_call.run`."""
    with Scratch() as scratch:
        texts = await texts_async(request.words, scratch)
        if not request.in_memory:
            result: CallResult = await wait_async(texts, request)
            return result
        directory = await in_thread(lambda: scratch.directory(0))
        try:
            result = await wait_async(into(directory, texts), request)
        except LayerloomError as error:
            lacking = error
            directory = await in_thread(lambda: other_place(lacking, directory, scratch))
            result = await wait_async(into(directory, texts), request)
        return await in_thread(lambda: Merged(output_in(directory), result))
