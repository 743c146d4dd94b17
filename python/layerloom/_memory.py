"""Tensors that the engine reads from this process's memory without a copy, if Linux permits it."""

import contextlib
import ctypes
import os
from collections.abc import Generator, Iterable, Sequence
from importlib import import_module
from typing import Any, NamedTuple

from ._arrays import is_torch

COMMANDS = {"merge", "relayout", "revert", "soup", "swap"}

REREAD = ("--attest", "--checksums", "--link", "--plugin")
"""Options with which other programs than the engine's native code read input files."""

LARGEST_ADDRESS = 1 << 53
"""JSON numbers are exact below this limit. Some processors store tags in higher bits of addresses."""


class Part(NamedTuple):

    nbytes: int
    address: int
    owner: Any
    """Keeps the bytes while the part exists."""


def may_read(words: Sequence[object]) -> bool:
    """True for a call that may read tensors in place."""
    return words[0] in COMMANDS and not any(isinstance(word, str) and word.startswith(REREAD) for word in words)


@contextlib.contextmanager
def own_memory() -> Generator[int | None, None, None]:
    """Opens this process's memory, for itself and its engine; yields None if the system forbids it."""
    try:
        memory = os.open("/proc/self/mem", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        yield None
        return
    try:
        yield memory
    finally:
        os.close(memory)


def parts_of(header: bytes, arrays: Iterable[Any]) -> list[Part] | None:
    """Returns the bytes of a header and arrays in memory, or None if an array is not in memory or cannot be read
    there."""
    parts = [Part(len(header), ctypes.cast(ctypes.c_char_p(header), ctypes.c_void_p).value or 0, header)]
    for array in arrays:
        part = torch_part(array) if is_torch(array) else numpy_part(array)
        if part is None:
            return None
        if part.nbytes > 0:
            parts.append(part)
    with own_memory() as memory:
        return parts if memory is not None and all(is_readable(memory, part) for part in parts) else None


def torch_part(tensor: Any) -> Part | None:
    if tensor.device.type != "cpu" or not tensor.is_contiguous() or tensor.is_conj() or tensor.is_neg():
        return None
    try:
        held = tensor.detach()
        return Part(held.numel() * held.element_size(), held.data_ptr(), held)
    except RuntimeError:
        # The tensor has no memory of its own; `write_array` raises the error.
        return None


def numpy_part(array: Any) -> Part | None:
    held = import_module("numpy").asarray(array)
    if not held.flags.c_contiguous or held.dtype.byteorder == ">":
        return None
    return Part(held.nbytes, held.ctypes.data, held)


def is_readable(memory: int, part: Part) -> bool:
    """True if both ends of a part can be read; a device's memory cannot."""
    end = part.address + part.nbytes
    if not 0 < part.address < end <= LARGEST_ADDRESS:
        return False
    try:
        return all(len(os.pread(memory, 1, at)) == 1 for at in (part.address, end - 1))
    except OSError:
        return False
