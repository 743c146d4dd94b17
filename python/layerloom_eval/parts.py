"""Maps a checkpoint's tensors to the parts of a server model's parameters that they are copied to, and reads these
parts. `exchange.py` also reads and hashes tensors with this module.

`vllm_weights.py` and `sglang_weights.py` take a checkpoint as a list of its tensors: the location of their
bytes, and a key. Equal keys mean equal bytes. Parts are hashed in the type of the tensor's file.
"""

import hashlib
import json
import mmap
import traceback
from contextlib import ExitStack, contextmanager

import torch
from torch.utils._python_dispatch import TorchDispatchMode

PROGRAM = 1
"""Version of a worker's requests and answers."""

DTYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}

HELD_BY = {torch.bfloat16: (torch.float32, torch.float64), torch.float16: (torch.float32, torch.float64), torch.float32: (torch.float64,)}
"""Types that hold every value of a type."""

SAMPLES, SAMPLE_ELEMENTS = 8, 1024
"""Samples of unchanged tensors: the number of evenly spaced runs, and the elements of each."""


class CannotExchange(Exception):
    """The reason why this model's weights cannot be exchanged."""


def answered(exchange, forget):
    """Returns an exchange's result as JSON. After a failure the worker forgets its tensors: the next load is complete.
    
    {"program": 1, "loaded": {"tensors", "bytes", "whole"}, "fingerprint": {NAME: [PART, …]}} | {"program": 1, "reason",
    "permanent"}
    """
    try:
        return json.dumps({"program": PROGRAM, **exchange()})
    except Exception as error:
        forget()
        if not isinstance(error, CannotExchange):
            traceback.print_exc()
        reason = str(error) or type(error).__name__
        return json.dumps({"program": PROGRAM, "reason": reason, "permanent": isinstance(error, CannotExchange)})


def loaded(changed, weights):
    """Describes the loaded part of a checkpoint."""
    return {
        "tensors": len(changed),
        "bytes": sum(each["end"] - each["begin"] for each in changed),
        "whole": len(changed) == len(weights),
    }


def check_dtype(each, held):
    """Refuses a tensor with values that a parameter's type cannot hold."""
    dtype = DTYPES.get(each["dtype"])
    if dtype not in HELD_BY or (dtype is not held and held not in HELD_BY[dtype]):
        raise CannotExchange(f"{each['name']} is {each['dtype']}, whose values the server's {held} does not hold")


class Place:
    """A part of a parameter, and the box of a tensor that was copied to it."""

    def __init__(self, module, name, size, stride, offset, box):
        self.module, self.name, self.size, self.stride, self.offset, self.box = module, name, size, stride, offset, box

    def parameter(self):
        return getattr(self.module, self.name)

    def elements(self):
        return self.parameter().as_strided(self.size, self.stride, self.offset)


@contextmanager
def opened(weights):
    """Yields an iterator over names and tensors, with the files' bytes."""
    with ExitStack() as stack:
        maps = {}

        def each_tensor():
            for each in weights:
                path = each["file"]
                if path not in maps:
                    file = stack.enter_context(open(path, "rb"))
                    maps[path] = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                raw = bytearray(maps[path][each["begin"] : each["end"]])
                if len(raw) != each["end"] - each["begin"]:
                    raise CannotExchange(f"{path} ends within {each['name']}")
                dtype = DTYPES[each["dtype"]]
                # torch makes no tensor over an empty buffer.
                flat = torch.frombuffer(raw, dtype=dtype) if raw else torch.empty(0, dtype=dtype)
                yield each["name"], flat.view(each["shape"])

        yield each_tensor()


class Copies:
    """Records which elements of the given tensors are copied to which elements of a model's parameters."""

    def __init__(self):
        self.places = {}
        self._sources = {}

    def known(self, tensors):
        for name, tensor in tensors:
            # A loader may run later, for example after its module's last tensor, so a tensor is held until it is
            # copied.
            self._sources[tensor.untyped_storage().data_ptr()] = (name, tensor)
            yield name, tensor
            # Releases the tensor now, because another tensor may get its address.
            for address, (known, _) in list(self._sources.items()):
                if known in self.places:
                    del self._sources[address]

    @contextmanager
    def to(self, owner_of):
        """Watches copies to parameters; a function of an address returns the module and the name, or None."""
        with _Watch(self, owner_of):
            yield

    def places_of(self, changed):
        for each in changed:
            if each["name"] not in self.places:
                raise CannotExchange(f"{each['name']} went to no parameter of the server's model that could be seen")
        return self.places

    def add(self, owner, target, source):
        name, tensor = self._sources.get(source.untyped_storage().data_ptr(), (None, None))
        if name is None or owner is None or target.numel() == 0:
            return
        box = _box(tensor, source)
        if box is None or list(target.shape) != list(source.shape):
            return
        place = Place(*owner, tuple(target.shape), target.stride(), target.storage_offset(), box)
        self.places.setdefault(name, []).append(place)


class _Watch(TorchDispatchMode):
    def __init__(self, copies, owner_of):
        super().__init__()
        self._copies, self._owner_of = copies, owner_of

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        if function is torch.ops.aten.copy_.default and args[0].device.type != "meta":
            self._copies.add(self._owner_of(args[0].untyped_storage().data_ptr()), args[0], args[1])
        return result


def _box(tensor, part):
    """Returns the begin and end of a view in each dimension of its tensor, or None if the view is not a box."""
    if part.dim() != tensor.dim() or any(
        own != other for own, other, size in zip(part.stride(), tensor.stride(), part.shape, strict=True) if size > 1
    ):
        return None
    rest, box = part.storage_offset(), []
    for stride, size in zip(tensor.stride(), part.shape, strict=True):
        begin, rest = divmod(rest, max(1, stride))
        box.append([begin, begin + size])
    return box


def part_at(place, each, is_all):
    """The content of a place: the hash of all elements, or of samples."""
    parameter = place.parameter()
    if parameter.numel() == 0 or parameter.untyped_storage().nbytes() < parameter.element_size():
        raise CannotExchange(f"the server keeps {each['name']} in a form that cannot be compared")
    flat = place.elements().reshape(-1).to(DTYPES[each["dtype"]])
    if is_all:
        return {"box": place.box, "sha256": hash_of([flat])}
    return {"box": place.box, "samples": SAMPLES, "sha256": hash_of(samples_of(flat))}


def samples_of(flat):
    last = max(0, flat.numel() - SAMPLE_ELEMENTS)
    return [flat[start : start + SAMPLE_ELEMENTS] for start in (last * index // (SAMPLES - 1) for index in range(SAMPLES))]


def hash_of(parts):
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.contiguous().cpu().view(torch.uint8).numpy().data)
    return digest.hexdigest()
