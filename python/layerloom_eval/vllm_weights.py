"""Exchanges the weights of a model that vLLM serves: of the next checkpoint, the modules that hold a tensor that differs.

`vllm serve … --worker-extension-cls layerloom_eval.vllm_weights.Weights` gives its workers the methods of `Weights`, which
`POST /collective_rpc` calls (VLLM_SERVER_DEV_MODE=1). A checkpoint is given as a list of its tensors, as in `exchange.py`:
where their bytes are, and a key; equal keys are equal bytes.

Tensors go through vLLM's own reloading, module by module (`vllm.model_executor.model_loader.reload`), and so through the
model's `load_weights`: fused, sharded and padded weights come out as at the start, in the memory that captured graphs use.
A module is loaded whole, since a reload begins it with uninitialised memory. The first load is of everything: it shows
which parts of which parameters each tensor's bytes are copied to.

After each load the server says what it holds. A linear module is asked itself: its product with a vector of zeros and one 1
is a column of its weights, whatever form it keeps them in (on CPUs a packed one). Of other parameters the elements are
read. Each part is hashed in the type of its file.

Uses of vLLM 0.32: `Worker.reload_weights`, `reload.layerwise._layerwise_process`, `get_layer_tensors`, `quant_method.apply`.
"""

import hashlib
import json
import mmap
import traceback
from contextlib import ExitStack, contextmanager

import torch
from torch.utils._python_dispatch import TorchDispatchMode

PROGRAM = 1
"""Version of what the methods take and give."""

DTYPES = {
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
}

_HELD_BY = {torch.bfloat16: (torch.float32,), torch.float16: (torch.float32,), torch.float32: ()}
"""Types that hold every value of a type."""

COLUMNS = 16
"""Columns of a linear module's weights that are asked for, at equal distances."""

SAMPLES, SAMPLE_ELEMENTS = 8, 1024
"""Of other parameters: runs of elements at equal distances, and the elements of one."""


class CannotExchange(Exception):
    """Says why this model's weights cannot be exchanged."""


class _Place:
    """A part of a parameter, and the box of a tensor that was copied to it."""

    def __init__(self, module, name, size, stride, offset, box):
        self.module, self.name, self.size, self.stride, self.offset, self.box = module, name, size, stride, offset, box

    def elements(self):
        return getattr(self.module, self.name).as_strided(self.size, self.stride, self.offset)


class Weights:
    """Methods of a vLLM worker. The only state: the keys of the tensors that it holds, and where they are."""

    def layerloom_exchange(self, request):
        """Makes the worker hold a checkpoint. Takes and gives JSON: a worker's result must not be an exception.

        in   {"weights": [{"name", "file", "begin", "end", "dtype", "shape", "key"}, …], "whole": BOOL, "fingerprint": "samples" | "whole"}
        out  {"program": 1, "loaded": {"tensors", "bytes", "whole"}, "fingerprint": {NAME: [PART, …]}} | {"program": 1, "reason", "permanent"}
        """
        try:
            return [json.dumps({"program": PROGRAM, **_exchange(self, **json.loads(request))})]
        except Exception as error:
            # What fails in the middle leaves parts of two checkpoints behind: the next load is of everything.
            self._layerloom_keys = {}
            if not isinstance(error, CannotExchange):
                traceback.print_exc()
            reason = str(error) or type(error).__name__
            return [json.dumps({"program": PROGRAM, "reason": reason, "permanent": isinstance(error, CannotExchange)})]


def _exchange(worker, weights, whole, fingerprint):
    model = worker.model_runner.get_model()
    keys = {} if whole else getattr(worker, "_layerloom_keys", {})
    worker._layerloom_keys = {}
    _check(worker, weights)
    by_name = {each["name"]: each for each in weights}
    if keys.keys() != by_name.keys():
        changed, places = weights, {}
    else:
        places = worker._layerloom_places
        touched = {id(place.module) for each in weights if keys[each["name"]] != each["key"] for place in places[each["name"]]}
        changed = [each for each in weights if any(id(place.module) in touched for place in places[each["name"]])]
    if changed:
        found = _load(worker, changed)
        if len(changed) == len(weights):
            worker._layerloom_places = places = _with_tied(model, found)
        _pack_tied(changed, places)
    worker._layerloom_keys = {each["name"]: each["key"] for each in weights}
    is_whole = fingerprint == "whole"
    compared = {each["name"] for each in (weights if is_whole else changed)}
    return {
        "loaded": {
            "tensors": len(changed),
            "bytes": sum(each["end"] - each["begin"] for each in changed),
            "whole": len(changed) == len(weights),
        },
        "fingerprint": _fingerprint(weights, places, compared, is_whole),
    }


def _check(worker, weights):
    if worker.model_config.quantization is not None:
        raise CannotExchange(f"the server quantises ({worker.model_config.quantization})")
    held = worker.model_config.dtype
    for each in weights:
        dtype = DTYPES.get(each["dtype"])
        if dtype is None or (dtype is not held and held not in _HELD_BY[dtype]):
            raise CannotExchange(f"{each['name']} is {each['dtype']}, whose values the server's {held} does not hold")


@torch.no_grad()
def _load(worker, changed):
    """Loads tensors, all of each module. Returns the places that their bytes were copied to, by name."""
    from vllm.model_executor.model_loader.reload import layerwise

    copies = _Copies()
    process = layerwise._layerwise_process

    def observed(layer, info):
        with copies.to(layer):
            process(layer, info)

    layerwise._layerwise_process = observed
    try:
        with _opened(changed) as tensors:
            worker.reload_weights(weights_iterator=copies.known(tensors))
    finally:
        layerwise._layerwise_process = process
    missing = [each["name"] for each in changed if each["name"] not in copies.places]
    if missing:
        raise CannotExchange(f"{missing[0]} went to no parameter of the server's model that could be seen")
    return copies.places


@contextmanager
def _opened(weights):
    """Yields an iterator over names and tensors, whose bytes are those of the files."""
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
                yield each["name"], torch.frombuffer(raw, dtype=DTYPES[each["dtype"]]).view(each["shape"])

        yield each_tensor()


class _Copies:
    """Sees which elements of the given tensors are copied to which elements of a module's parameters."""

    def __init__(self):
        self.places = {}
        self._sources = {}

    def known(self, tensors):
        for name, tensor in tensors:
            # The module's loaders run when its last tensor has come: the tensors before it are held until then.
            self._sources[tensor.untyped_storage().data_ptr()] = (name, tensor)
            yield name, tensor

    @contextmanager
    def to(self, layer):
        with _Watch(self, layer):
            yield
        # Bytes that were copied are let go: another tensor may come to lie where they lay.
        for address, (name, _) in list(self._sources.items()):
            if any(place.module is layer for place in self.places.get(name, ())):
                del self._sources[address]

    def add(self, layer, target, source):
        name, tensor = self._sources.get(source.untyped_storage().data_ptr(), (None, None))
        parameters = {
            parameter.untyped_storage().data_ptr(): key
            for key, parameter in layer.named_parameters(recurse=False)
            if parameter.numel() > 0
        }
        key = parameters.get(target.untyped_storage().data_ptr())
        if name is None or key is None or target.numel() == 0:
            return
        box = _box(tensor, source)
        if box is None or list(target.shape) != list(source.shape):
            return
        place = _Place(layer, key, tuple(target.shape), target.stride(), target.storage_offset(), box)
        self.places.setdefault(name, []).append(place)


class _Watch(TorchDispatchMode):
    def __init__(self, copies, layer):
        super().__init__()
        self._copies, self._layer = copies, layer

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        if function is torch.ops.aten.copy_.default and args[0].device.type != "meta":
            self._copies.add(self._layer, args[0], args[1])
        return result


def _box(tensor, part):
    """Returns the begin and end in each dimension of a tensor that a view of it is; None if it is no such box."""
    if part.dim() != tensor.dim() or any(
        own != other for own, other, size in zip(part.stride(), tensor.stride(), part.shape, strict=True) if size > 1
    ):
        return None
    rest, box = part.storage_offset(), []
    for stride, size in zip(tensor.stride(), part.shape, strict=True):
        begin, rest = divmod(rest, max(1, stride))
        box.append([begin, begin + size])
    return box


def _with_tied(model, found):
    """Adds the modules whose parameter is that of another one, which alone is loaded: an output layer tied to the embedding."""
    owners = {}
    for module in model.modules():
        for key, parameter in module.named_parameters(recurse=False):
            if parameter.numel() > 0:
                owners.setdefault(parameter.untyped_storage().data_ptr(), []).append((module, key))
    places = {}
    for name, own in found.items():
        places[name] = list(own)
        for place in own:
            parameter = getattr(place.module, place.name)
            for module, key in owners.get(parameter.untyped_storage().data_ptr(), ()) if parameter.numel() > 0 else ():
                if module is not place.module:
                    places[name].append(_Place(module, key, place.size, place.stride, place.offset, place.box))
    return places


def _pack_tied(changed, places):
    """Lets modules that keep a tied weight in another form make it anew: the reload goes by the module that is loaded."""
    done = set()
    for each in changed:
        first, *others = places[each["name"]]
        for place in others:
            if place.module is not first.module and id(place.module) not in done:
                done.add(id(place.module))
                place.module.quant_method.process_weights_after_loading(place.module)


@torch.no_grad()
def _fingerprint(weights, places, compared, all_columns):
    columns = _columns_of_modules(places, all_columns)
    parts = {}
    for each in weights:
        dtype = DTYPES[each["dtype"]]
        parts[each["name"]] = [_part(each["name"], place, dtype, columns, each["name"] in compared) for place in places[each["name"]]]
    return parts


def _part(name, place, dtype, columns, is_all):
    own = columns.get(id(place.module)) if place.name == "weight" else None
    if own is not None:
        indices, products = own
        rows = place.offset // place.stride[0]
        first = place.offset % place.stride[0]
        begin, end = place.box[1]
        # Column j of the tensor is column `first + j - begin` of the module.
        picked = [index for index in indices if first <= index < first + end - begin]
        values = products[[indices.index(index) for index in picked], rows : rows + place.size[0]]
        return {
            "box": place.box,
            "columns": [index - first + begin for index in picked],
            # A sum has no negative zero.
            "sha256": _hash([values.to(dtype) + 0.0]),
        }
    parameter = getattr(place.module, place.name)
    if parameter.numel() == 0 or parameter.untyped_storage().nbytes() < parameter.element_size():
        raise CannotExchange(f"the server keeps {name} in a form that cannot be compared")
    flat = place.elements().reshape(-1).to(dtype)
    if is_all:
        return {"box": place.box, "sha256": _hash([flat])}
    return {"box": place.box, "samples": SAMPLES, "sha256": _hash(_samples_of(flat))}


def _columns_of_modules(places, all_columns):
    """Asks each linear module for columns of its weights. Returns them by the module: their indices, and the products."""
    from vllm.model_executor.layers.vocab_parallel_embedding import ParallelLMHead, VocabParallelEmbedding

    found = {}
    for own in places.values():
        for place in own:
            module = place.module
            is_lookup = isinstance(module, VocabParallelEmbedding) and not isinstance(module, ParallelLMHead)
            method = getattr(module, "quant_method", None)
            if place.name != "weight" or len(place.size) != 2 or id(module) in found or is_lookup or not hasattr(method, "apply"):
                continue
            width = place.stride[0]
            count = width if all_columns else min(COLUMNS, width)
            indices = sorted({(width - 1) * index // max(1, count - 1) for index in range(count)})
            like = getattr(module, place.name)
            ones = torch.zeros(len(indices), width, dtype=like.dtype, device=like.device)
            ones[range(len(indices)), indices] = 1
            found[id(module)] = (indices, method.apply(module, ones, None))
    return found


def _samples_of(flat):
    last = max(0, flat.numel() - SAMPLE_ELEMENTS)
    return [flat[start : start + SAMPLE_ELEMENTS] for start in (last * index // (SAMPLES - 1) for index in range(SAMPLES))]


def _hash(parts):
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.contiguous().cpu().view(torch.uint8).numpy().data)
    return digest.hexdigest()
