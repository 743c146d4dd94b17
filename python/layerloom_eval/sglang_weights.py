"""Exchanges the weights of a model that SGLang serves: loads the next checkpoint's tensors that differ.

Start SGLang with `python -m sglang.launch_server … --custom-weight-loader
layerloom_eval.sglang_weights.load`. `POST /update_weights_from_tensor` with that name as `load_format` then
calls `load` in each worker, with its model and named tensors. A request is the name of an empty tensor. Each worker
writes its answer to a file, because SGLang returns no answers. `parts.py` describes checkpoints and answers.

Tensors go through the model's `load_weights` into the memory that captured graphs use: fused, sharded and padded
tensors come out as at the start. The first load covers all tensors, and shows where each is copied to. Then these
places are hashed. The model must compute with nothing else, so its form is checked: no quantised layers, no parameters
without a tensor, no derived tensors, and nothing that SGLang rewrites at the end of an update.

Uses of SGLang 0.5.23: `--custom-weight-loader`, `load_weights`, `quant_method.process_weights_after_loading`.
"""

import json
import math
import os
import traceback
from collections import namedtuple

import torch

from layerloom_eval.parts import CannotExchange, Copies, answered, check_dtype, loaded, opened, part_at

_UNQUANTISED = ("UnquantizedLinearMethod", "UnquantizedEmbeddingMethod", "UnquantizedFusedMoEMethod")
"""Classes of SGLang that keep a module's weights as they were loaded."""


_Held = namedtuple("_Held", "model keys places")
"""This worker's model, the keys of the tensors that it holds, and their places."""

_held = None


def load(model, named_tensors):
    """Makes a worker hold a checkpoint. An exception would end SGLang, so failures are returned as answers.

    A name is {"weights": [{"name", "file", "begin", "end", "dtype", "shape", "key"}, …], "whole": BOOL,
    "fingerprint": "samples" | "whole", "replies": DIRECTORY}
    """

    def forget():
        global _held
        _held = None

    for name, _ in named_tensors:
        request = json.loads(name)
        replies = request.pop("replies")
        _reply(replies, answered(lambda request=request: _exchange(model, **request), forget))


def _reply(directory, text):
    rank = torch.distributed.get_rank() if torch.distributed.is_initialized() else 0
    path = os.path.join(directory, f"{rank}.json")
    try:
        with open(f"{path}.part", "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(f"{path}.part", path)
    except OSError:
        # Without the file the caller finds no answer, which counts as a failure.
        traceback.print_exc()


@torch.no_grad()
def _exchange(model, weights, whole, fingerprint):
    global _held
    held, _held = _held, None
    keys = {each["name"]: each["key"] for each in weights}
    if whole or held is None or held.model is not model or held.keys.keys() != keys.keys():
        changed = weights
        _check_form(model)
        places = _load(model, changed)
        _check_places(model, weights, places)
        _check_end(model)
    else:
        changed, places = [each for each in weights if held.keys[each["name"]] != each["key"]], held.places
        _load(model, changed)
    _held = _Held(model, keys, places)
    compared = {each["name"] for each in (weights if fingerprint == "whole" else changed)}
    return {
        "loaded": loaded(changed, weights),
        "fingerprint": {each["name"]: [part_at(place, each, each["name"] in compared) for place in places[each["name"]]] for each in weights},
    }


def _check_form(model):
    """Refuses a model that computes with anything except parameters as loaded."""
    if getattr(model, "quant_config", None) is not None:
        raise CannotExchange(f"the server quantises ({model.quant_config.get_name()})")
    if hasattr(model, "post_load_weights"):
        raise CannotExchange(f"{type(model).__name__} derives tensors from its weights, which cannot be compared")
    for name, module in model.named_modules():
        method = getattr(module, "quant_method", None)
        if method is not None and type(method).__name__ not in _UNQUANTISED:
            raise CannotExchange(f"the server keeps {name} by {type(method).__name__}, in a form that cannot be compared")
        derived = [key for key, value in vars(module).items() if isinstance(value, torch.Tensor)]
        if derived:
            raise CannotExchange(f"the server's {name}.{derived[0]} is no parameter, and cannot be compared")


def _load(model, changed):
    """Loads tensors. Returns the places that they were copied to, by name."""
    owners = {
        parameter.untyped_storage().data_ptr(): (module, key)
        for module in model.modules()
        for key, parameter in module.named_parameters(recurse=False)
        if parameter.numel() > 0
    }
    copies = Copies()
    with opened(changed) as tensors, copies.to(owners.get):
        model.load_weights(copies.known(tensors))
    return copies.places_of(changed)


def _check_places(model, weights, places):
    """Refuses a model whose parameters cannot hold the tensors' values, or have a part that comes from no
    tensor."""
    for each in weights:
        for place in places[each["name"]]:
            check_dtype(each, place.parameter().dtype)
    covered = {}
    for place in (place for own in places.values() for place in own):
        covered.setdefault(place.parameter().untyped_storage().data_ptr(), []).append(place)
    # A server with `--load-format dummy` starts with random values in its state. The padding of a parameter is zero.
    for name, tensor in model.state_dict().items():
        if tensor.numel() == 0:
            continue
        own = covered.get(tensor.untyped_storage().data_ptr())
        if own is None:
            raise CannotExchange(f"{name} of the server's model comes from no tensor of the checkpoint")
        if _rest_of(tensor, own).any():
            raise CannotExchange(f"a part of {name} of the server's model comes from no tensor of the checkpoint")


def _rest_of(tensor, places):
    """Returns the elements of a tensor's storage outside these places."""
    whole = torch.empty(0, dtype=tensor.dtype, device=tensor.device).set_(tensor.untyped_storage())
    if sum(math.prod(place.size) for place in places) == whole.numel() == len({(place.offset, place.size, place.stride) for place in places}):
        return whole[:0]
    rest = torch.ones(whole.shape, dtype=torch.bool, device=whole.device)
    for place in places:
        rest.as_strided(place.size, place.stride, place.offset).fill_(False)
    return whole[rest]


def _check_end(model):
    """Runs the end of SGLang's update, to check that it leaves parameters as loaded."""
    for name, module in model.named_modules():
        method = getattr(module, "quant_method", None)
        if method is None:
            continue
        before = {key: (parameter.data_ptr(), parameter.detach().clone()) for key, parameter in module.named_parameters(recurse=False)}
        method.process_weights_after_loading(module)
        after = dict(module.named_parameters(recurse=False))
        for key, (address, value) in before.items():
            if key not in after or after[key].data_ptr() != address or not torch.equal(_bytes(after[key]), _bytes(value)):
                raise CannotExchange(f"the server makes {name}.{key} over after a load, into a form that cannot be compared")
        added = after.keys() - before.keys()
        if added:
            raise CannotExchange(f"the server's {name}.{min(added)} is made after a load, and cannot be compared")


def _bytes(tensor):
    return tensor.detach().reshape(-1).view(torch.uint8)
