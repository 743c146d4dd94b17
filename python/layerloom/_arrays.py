"""Tensors of NumPy and torch: writes their bytes, without a copy if they are contiguous, and makes arrays
over bytes."""

import math
from importlib import import_module
from typing import Any, BinaryIO

from ._safetensors import DTYPES, NAMES, Tensor


def is_array(value: object) -> bool:
    """True for a NumPy array, a torch tensor, and other values that NumPy converts."""
    # Reading the shape of a nested tensor raises an error.
    return all(hasattr(type(value), name) for name in ("dtype", "shape", "__array__"))


def is_torch(array: object) -> bool:
    return hasattr(array, "data_ptr")


def form_of(name: str, array: Any) -> tuple[str, tuple[int, ...]]:
    """Returns safetensors' dtype of an array, and its shape."""
    if hasattr(array, "mask") and hasattr(array, "filled"):
        raise TypeError(f"{name}: expected an array without a mask; give its `filled(value)`")
    if is_torch(array) and (str(array.layout) != "torch.strided" or array.is_nested):
        raise TypeError(f"{name}: expected a dense tensor, got one of layout {array.layout}; give its `to_dense()`")
    dtype = str(array.dtype).removeprefix("torch.") if is_torch(array) else str(import_module("numpy").dtype(array.dtype).name)
    if dtype not in NAMES:
        raise TypeError(f"{name}: a model has no tensors of dtype {dtype}")
    return NAMES[dtype], tuple(int(size) for size in array.shape)


def write_array(file: BinaryIO, name: str, array: Any) -> None:
    """Writes the elements as in safetensors: in C order, little-endian."""
    if is_torch(array):
        if array.device.type == "meta":
            raise ValueError(f"{name}: a tensor of the device meta has no values")
        import ctypes

        try:
            # The array is held until its bytes are written.
            tensor = array.detach().cpu().resolve_conj().resolve_neg().contiguous()
            place = tensor.data_ptr()
        except RuntimeError as error:
            raise ValueError(f"{name}: its values cannot be read: {error}") from error
        size = tensor.numel() * tensor.element_size()
        write_all(file, memoryview((ctypes.c_char * size).from_address(place)).cast("B") if size > 0 else memoryview(b""))
        return
    numpy = import_module("numpy")
    array = numpy.asarray(array)
    if array.dtype.byteorder == ">":
        array = array.astype(array.dtype.newbyteorder("<"))
    write_all(file, memoryview(numpy.ascontiguousarray(array).reshape(-1).view(numpy.uint8)))


def write_all(file: BinaryIO, content: memoryview) -> None:
    """Writes all bytes to an unbuffered file, whose single writes may be partial."""
    while len(content) > 0:
        content = content[file.write(content) :]


def numpy_over(name: str, content: Any, tensor: Tensor) -> Any:
    numpy = imported("numpy", f"{name}: NumPy arrays")
    dtype = dtype_of(name, tensor)
    is_extra = dtype.startswith(("bfloat", "float8"))
    own = getattr(imported("ml_dtypes", f"{name}: NumPy arrays of {dtype}"), dtype) if is_extra else dtype
    return numpy.frombuffer(content, numpy.dtype(own), math.prod(tensor.shape), tensor.begin).reshape(tensor.shape)


def torch_over(name: str, content: Any, tensor: Tensor) -> Any:
    torch = imported("torch", f"{name}: tensors of torch")
    dtype = getattr(torch, dtype_of(name, tensor), None)
    if dtype is None:
        raise TypeError(f"{name}: this torch has no dtype {dtype_of(name, tensor)}; `raw` gives the bytes")
    count = math.prod(tensor.shape)
    # torch makes no tensor over an empty buffer.
    if count == 0:
        return torch.empty(tensor.shape, dtype=dtype)
    return torch.frombuffer(content, dtype=dtype, count=count, offset=tensor.begin).reshape(tensor.shape)


def dtype_of(name: str, tensor: Tensor) -> str:
    if tensor.dtype not in DTYPES:
        raise TypeError(f"{name}: there are no arrays of {tensor.dtype}, whose elements share bytes; `raw` gives the bytes")
    return DTYPES[tensor.dtype].name


def imported(module: str, what: str) -> Any:
    try:
        return import_module(module)
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError(f"{what} need {module}: pip install {module}", name=module) from missing
