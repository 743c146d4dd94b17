"""Exchanges the weights of a model that vLLM serves: loads the modules with a tensor that differs in the next
checkpoint.

`vllm serve … --worker-extension-cls layerloom_eval.vllm_weights.Weights` adds the methods of `Weights` to its
workers; `POST /collective_rpc` calls them (VLLM_SERVER_DEV_MODE=1). `parts.py` describes checkpoints and
answers.

Tensors go through vLLM's own reloading, module by module (`vllm.model_executor.model_loader.reload`), and so
through the model's `load_weights`. Fused, sharded and padded weights come out as at the start, in the memory
that captured graphs use. A module is loaded whole, since a reload begins with uninitialised memory. The first load
covers all tensors, and shows where each is copied to.

After each load the server reports its contents. A linear module's product with a unit vector is a column of
its weights, whatever their form (packed on CPUs). Other parameters are read directly.

Uses of vLLM 0.32: `Worker.reload_weights`, `reload.layerwise._layerwise_process`, `get_layer_tensors`,
`quant_method.apply`.
"""

import json

import torch

from layerloom_eval.parts import DTYPES, CannotExchange, Copies, Place, answered, check_dtype, hash_of, loaded, opened, part_at

COLUMNS = 16
"""Number of equally spaced columns to read from a linear module's weights."""


class Weights:
    """Methods of a vLLM worker. The only state is the keys of the tensors that it holds, and their places."""

    def layerloom_exchange(self, request):
        """Makes the worker hold a checkpoint. Takes and returns JSON: a worker must not raise an exception.

        in {"weights": [{"name", "file", "begin", "end", "dtype", "shape", "key"}, …], "whole": BOOL,
        "fingerprint": "samples" | "whole"}
        """

        def forget():
            self._layerloom_keys = {}

        return [answered(lambda: _exchange(self, **json.loads(request)), forget)]


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
        "loaded": loaded(changed, weights),
        "fingerprint": _fingerprint(weights, places, compared, is_whole),
    }


def _check(worker, weights):
    if worker.model_config.quantization is not None:
        raise CannotExchange(f"the server quantises ({worker.model_config.quantization})")
    for each in weights:
        check_dtype(each, worker.model_config.dtype)


@torch.no_grad()
def _load(worker, changed):
    """Loads tensors, all of each module. Returns the places that they were copied to, by name."""
    from vllm.model_executor.model_loader.reload import layerwise

    copies = Copies()
    process = layerwise._layerwise_process

    def observed(layer, info):
        def owner_of(address):
            # Looks up parameters at each copy, because the process creates new ones.
            for key, parameter in layer.named_parameters(recurse=False):
                if parameter.numel() > 0 and parameter.untyped_storage().data_ptr() == address:
                    return layer, key
            return None

        with copies.to(owner_of):
            process(layer, info)

    layerwise._layerwise_process = observed
    try:
        with opened(changed) as tensors:
            worker.reload_weights(weights_iterator=copies.known(tensors))
    finally:
        layerwise._layerwise_process = process
    return copies.places_of(changed)


def _with_tied(model, found):
    """Adds modules whose parameter belongs to another module, such as an output layer tied to the embedding. Only that
    other module is loaded."""
    owners = {}
    for module in model.modules():
        for key, parameter in module.named_parameters(recurse=False):
            if parameter.numel() > 0:
                owners.setdefault(parameter.untyped_storage().data_ptr(), []).append((module, key))
    places = {}
    for name, own in found.items():
        places[name] = list(own)
        for place in own:
            parameter = place.parameter()
            for module, key in owners.get(parameter.untyped_storage().data_ptr(), ()) if parameter.numel() > 0 else ():
                if module is not place.module:
                    places[name].append(Place(module, key, place.size, place.stride, place.offset, place.box))
    return places


def _pack_tied(changed, places):
    """Lets modules that keep a tied weight in another form rebuild it: the reload covers only the loaded
    module."""
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
    return {each["name"]: [_part(each, place, columns, each["name"] in compared) for place in places[each["name"]]] for each in weights}


def _part(each, place, columns, is_all):
    own = columns.get(id(place.module)) if place.name == "weight" else None
    if own is None:
        return part_at(place, each, is_all)
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
        "sha256": hash_of([values.to(DTYPES[each["dtype"]]) + 0.0]),
    }


def _columns_of_modules(places, all_columns):
    """Reads columns of each linear module's weights. Returns by module the indices and the products."""
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
            like = place.parameter()
            ones = torch.zeros(len(indices), width, dtype=like.dtype, device=like.device)
            ones[range(len(indices)), indices] = 1
            found[id(module)] = (indices, method.apply(module, ones, None))
    return found
