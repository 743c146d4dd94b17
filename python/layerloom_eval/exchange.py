"""Loads the weights of successive models into one transformers model: for each, only the tensors that differ.

A checkpoint is a list of its tensors: the location of their bytes, and a key. Equal keys mean equal bytes. A
model is reused if transformers' arguments and all small files beside the weights stay the same. Every tensor
of the files must also be a tensor of the model by name and shape, with a type that holds its values. Otherwise, and
after a failure, transformers loads the model as usual.

A merge that is scored in place has the files of a donor, another model of the same form, whose tensors the
request lists too. transformers loads the donor, then the tensors that differ are loaded.

After loading, a fingerprint of the model's own parameters is taken: the SHA-256 of each tensor in its file's
type. Newly loaded tensors are hashed whole, all other tensors by samples.

Uses of lm_eval 0.4.13: `HFLM._create_model`, `lm_eval.api.registry.get_model`.
"""

import gc
import hashlib
import json
import os
from collections import namedtuple

import kept
import lm_eval.api.registry
import torch
from lm_eval.models.huggingface import HFLM
from parts import DTYPES, HELD_BY, hash_of, opened, samples_of

_NOT_OF_THE_MODEL = ("layerloom.json", "README.md", "model.safetensors.index.json")
"""Small files of a checkpoint that do not affect the model."""


_Kept = namedtuple("_Kept", "key model keys")
"""This process's model by its sources, with the key of each tensor in it."""

_kept = None
_drawings = {}
"""The random numbers drawn while a model is made, by the model's sources."""

_run = None


def expect(**run):
    """Sets the `weights` of the next run, and the function `agree` of the loaded tensors and their fingerprint.

    `there` are the tensors in the files of the run's checkpoint; None: those of `weights`.
    """
    global _run
    _run = run


def forget():
    global _kept
    _kept = None
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


class ExchangingLM(HFLM):
    """The harness's `hf`, which reuses the previous run's model if possible."""

    def _create_model(self, pretrained, **options):
        global _kept
        weights, there = _run["weights"], _run["there"]
        key = _key_of(pretrained, self._device, options) if weights is not None else None
        before = kept.random_state()
        drawing = _drawings.setdefault(key, kept.Drawing())
        if key is not None and _kept is not None and _kept.key == key and drawing.is_known(before):
            places = _places_of(_kept.model, weights)
            if places is not None:
                self._model = _exchanged(pretrained, weights, places)
                drawing.repeat(before)
                return
        forget()
        super()._create_model(pretrained, **options)
        drawing.note(before)
        places = None if key is None else _places_of(self._model, weights)
        if places is None:
            # transformers has loaded the right model, unless its files are another model's.
            if there is not None:
                raise ValueError("the tensors of this model cannot be exchanged by name: score it without in place")
            return
        there = weights if there is None else there
        own = _Kept(key, self._model, {each["name"]: each["key"] for each in there})
        changed = _load_differing(own, weights, places)
        _compare(weights, places, [*there, *changed], whole=True)
        _kept = own


def _exchanged(pretrained, weights, places):
    global _kept
    # A failure half-way leaves a mix of two checkpoints, which must not be reused.
    own, _kept = _kept, None
    model = own.model
    changed = _load_differing(own, weights, places)
    model.config._name_or_path = pretrained
    model.name_or_path = pretrained
    _compare(weights, places, changed, whole=False)
    _kept = own
    return model


def _load_differing(own, weights, places):
    changed = [each for each in weights if own.keys.get(each["name"]) != each["key"]]
    load(changed, places)
    own.keys.update((each["name"], each["key"]) for each in changed)
    return changed


def _compare(weights, places, loaded, *, whole):
    size = sum(each["end"] - each["begin"] for each in loaded)
    is_whole = _run["fingerprint"] == "whole"
    prints = fingerprint(weights, places, {each["name"] for each in (weights if is_whole else loaded)})
    _run["agree"]({"tensors": len(loaded), "bytes": size, "whole": whole}, prints)


def _key_of(pretrained, device, options):
    """Identifies a model's sources other than weights, or returns None unless it is made from safetensors
    files alone."""
    beyond = ("peft", "delta", "autogptq", "gptqmodel", "gguf_file", "quantization_config", "tp_plan", "parallelize")
    if any(options.get(name) for name in beyond) or options.get("subfolder"):
        return None
    if any(name.startswith(("load_in_", "device_map")) for name in options):
        return None
    if not os.path.isdir(pretrained):
        return None
    files = []
    for name in sorted(os.listdir(pretrained)):
        path = os.path.join(pretrained, name)
        if name.endswith(".safetensors") or name in _NOT_OF_THE_MODEL or not os.path.isfile(path):
            continue
        with open(path, "rb") as file:
            files.append((name, hashlib.sha256(file.read()).hexdigest()))
    return json.dumps([str(device), files, sorted((name, repr(value)) for name, value in options.items())])


def _places_of(model, weights):
    """Returns the model's tensor for each tensor in the files, by name, or None unless they match one to one."""
    tensors = model.state_dict(keep_vars=True)
    places = {}
    for each in weights:
        place = tensors.get(each["name"])
        dtype = DTYPES.get(each["dtype"])
        if place is None or dtype is None or list(place.shape) != each["shape"] or place.device.type == "meta":
            return None
        if place.dtype is not dtype and place.dtype not in HELD_BY.get(dtype, ()):
            return None
        places[each["name"]] = place
    # A tensor of the model that no file has must be tied to a tensor of a file. No two tensors of the files may be the
    # same tensor of the model.
    owned = {place.data_ptr() for place in places.values() if place.numel() > 0}
    if len(owned) != sum(place.numel() > 0 for place in places.values()):
        return None
    if any(place.data_ptr() not in owned for place in tensors.values() if place.numel() > 0):
        return None
    return places


@torch.no_grad()
def load(weights, places):
    with opened(weights) as tensors:
        for name, tensor in tensors:
            places[name].copy_(tensor)


@torch.no_grad()
def fingerprint(weights, places, whole):
    """The SHA-256 of the model's tensors in their files' types: whole for tensors in `whole`, else by samples."""
    return {
        each["name"]: {"whole": hash_of([_flat(places, each)])}
        if each["name"] in whole
        else {"samples": hash_of(samples_of(_flat(places, each)))}
        for each in weights
    }


def _flat(places, each):
    return places[each["name"]].detach().reshape(-1)[:].to(DTYPES[each["dtype"]])


_get_model = lm_eval.api.registry.get_model


def _model_class(name):
    found = _get_model(name)
    return ExchangingLM if found is HFLM else found


lm_eval.api.registry.get_model = _model_class
