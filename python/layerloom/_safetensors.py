"""Reads headers of safetensors files with the standard library; maps dtypes to names in NumPy, ml_dtypes, torch."""

import json
import math
import struct
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple


class Tensor(NamedTuple):
    """A tensor of a file: its safetensors dtype, and the place of its bytes in the file."""

    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


class Dtype(NamedTuple):

    size: int
    name: str
    """The dtype's names in NumPy or ml_dtypes, and in torch."""


DTYPES = {
    "BOOL": Dtype(1, "bool"),
    "U8": Dtype(1, "uint8"),
    "I8": Dtype(1, "int8"),
    "F8_E5M2": Dtype(1, "float8_e5m2"),
    "F8_E4M3": Dtype(1, "float8_e4m3fn"),
    "F8_E8M0": Dtype(1, "float8_e8m0fnu"),
    "F8_E4M3FNUZ": Dtype(1, "float8_e4m3fnuz"),
    "F8_E5M2FNUZ": Dtype(1, "float8_e5m2fnuz"),
    "I16": Dtype(2, "int16"),
    "U16": Dtype(2, "uint16"),
    "F16": Dtype(2, "float16"),
    "BF16": Dtype(2, "bfloat16"),
    "I32": Dtype(4, "int32"),
    "U32": Dtype(4, "uint32"),
    "F32": Dtype(4, "float32"),
    "C64": Dtype(8, "complex64"),
    "F64": Dtype(8, "float64"),
    "I64": Dtype(8, "int64"),
    "U64": Dtype(8, "uint64"),
}
"""Dtypes by safetensors' names, without F4 and F6, whose elements share bytes."""

NAMES = {dtype.name: name for name, dtype in DTYPES.items()}
"""safetensors' names of dtypes of NumPy, ml_dtypes and torch."""


def read_header(content: memoryview) -> dict[str, Tensor]:
    """Returns the tensors of a file, in the order of their bytes.

    Raises:
        ValueError: the file is not safetensors, or a tensor lies outside it or has the wrong number of bytes
    """
    if len(content) < 8:
        raise ValueError("no safetensors file: it has no header")
    (length,) = struct.unpack_from("<Q", content)
    if length > len(content) - 8:
        raise ValueError("no safetensors file: its header does not fit")
    header: dict[str, dict[str, Any]] = json.loads(bytes(content[8 : 8 + length]))
    header.pop("__metadata__", None)
    tensors: dict[str, Tensor] = {}
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        tensor = Tensor(entry["dtype"], tuple(entry["shape"]), begin, end)
        if not 8 + length <= begin <= end <= len(content) or bytes_of(tensor) not in (None, end - begin):
            raise ValueError(f"no safetensors file: {name} has not the bytes of its shape")
        tensors[name] = tensor
    return tensors


def bytes_of(tensor: Tensor) -> int | None:
    """Returns the number of bytes for a dtype and shape, or None if elements share bytes."""
    dtype = DTYPES.get(tensor.dtype)
    return None if dtype is None else dtype.size * math.prod(tensor.shape)


def write_header(tensors: Iterable[tuple[str, str, tuple[int, ...]]], metadata: Mapping[str, str]) -> bytes:
    """Makes the header of a file whose tensors (name, dtype, shape) are in this order."""
    header: dict[str, Any] = {"__metadata__": dict(metadata)}
    end = 0
    for name, dtype, shape in tensors:
        begin, end = end, end + DTYPES[dtype].size * math.prod(shape)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text
