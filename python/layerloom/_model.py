"""Models that are in memory, as the engine gets them: files in shared memory."""

import contextlib
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, cast

from ._arrays import form_of, is_array, is_torch, write_all, write_array
from ._merged import Merged, StrPath
from ._safetensors import DTYPES, write_header
from ._scratch import Scratch

WEIGHTS = (".safetensors", ".index.json", ".bin", ".pt", ".pth", ".ckpt", ".gguf", ".h5", ".msgpack")


class Module(Protocol):
    """A model of transformers, or another module of torch."""

    @property
    def state_dict(self) -> Callable[..., Any]: ...


class Model:
    """Tensors in memory as a model.

    Args:
        tensors: arrays of NumPy or tensors of torch by name, or a module of torch
        config: what `config.json` says (of an adapter `adapter_config.json`): a mapping, or a configuration of
            transformers or PEFT; default: that of the module
        files: a directory whose files beside the weights, such as the tokenizer, the model has too
        name: what results call the model
    """

    def __init__(
        self,
        tensors: Mapping[str, Any] | Module,
        *,
        config: Any = None,
        files: StrPath | None = None,
        name: str | None = None,
    ) -> None:
        if name is not None and (name == "" or name.startswith(".") or set(name) & set("/=+\0")):
            raise ValueError(f"name: expected the name of a folder, got {name!r}")
        self.tensors = tensors if isinstance(tensors, Mapping) else state_of(tensors)
        self.config = plain_config(config)
        if config is None and not isinstance(tensors, Mapping):
            self.config = config_of(tensors)
        self.files = files
        self.name = name
        for key, value in self.tensors.items():
            if not is_array(value):
                raise TypeError(f"{key}: expected an array of NumPy or a tensor of torch, got {type(value).__name__}")


ModelLike: TypeAlias = StrPath | Mapping[str, Any] | Module | Model
"""A directory, a file of weights, `org/name` of the hub, `BASE+ADAPTER`; or a model in memory."""


def state_of(module: Module) -> dict[str, Any]:
    """The tensors of a module, of which those that share their memory are there once, as in files."""
    seen: set[tuple[Any, ...]] = set()
    tensors: dict[str, Any] = {}
    for name, tensor in module.state_dict().items():
        place = (tensor.data_ptr(), tensor.device, tuple(tensor.shape), tensor.stride()) if is_torch(tensor) else (name,)
        if place not in seen or tensor.numel() == 0:
            tensors[name] = tensor
        seen.add(place)
    return tensors


def config_of(module: Module) -> dict[str, Any] | None:
    config = plain_config(getattr(module, "config", None))
    return config if config is None else {**config, "architectures": config.get("architectures") or [type(module).__name__]}


def plain_config(config: Any) -> dict[str, Any] | None:
    if config is None:
        return None
    if hasattr(config, "to_json_string"):
        whole: dict[str, Any] = json.loads(config.to_json_string(use_diff=False))
        return whole
    return dict(config.to_dict() if hasattr(config, "to_dict") else config)


def plain(value: Any) -> Any:
    """What JSON has in the place of a value that it has not."""
    if isinstance(value, os.PathLike):
        return os.fspath(cast("os.PathLike[str]", value))
    if isinstance(value, (set, frozenset)):
        return sorted(cast("set[Any]", value))
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"expected a value of JSON, got {type(value).__name__}")


def in_memory(value: object) -> bool:
    """True for a model whose tensors are in this process."""
    if isinstance(value, (Model, Merged)):
        return True
    if isinstance(value, Mapping):
        tensors = cast("Mapping[Any, object]", value)
        return len(tensors) > 0 and all(map(is_array, tensors.values()))
    return callable(getattr(value, "state_dict", None))


def path_of(value: Any, name: str, scratch: Scratch) -> str:
    """Returns the path of a model in memory, which is written first, once for each call."""
    if id(value) not in scratch.models:
        scratch.models[id(value)] = written(value, name, scratch)
    return scratch.models[id(value)]


def written(value: Any, name: str, scratch: Scratch) -> str:
    """Writes a model in memory to a directory of shared memory: its bytes are copied once, a tensor at a time."""
    if isinstance(value, Merged):
        directory = os.path.join(scratch.directory(value.nbytes), name)
        value.save(directory)
        return directory
    model = value if isinstance(value, Model) else Model(value)
    forms = [(key, *form_of(key, array)) for key, array in model.tensors.items()]
    # The largest elements first, so that all are aligned.
    forms.sort(key=lambda form: -DTYPES[form[1]].size)
    size = sum(DTYPES[dtype].size * math.prod(shape) for _, dtype, shape in forms)
    directory = os.path.join(scratch.directory(size), model.name or name)
    os.mkdir(directory)
    if model.files is not None:
        link_files(os.fspath(model.files), directory)
    kind = "adapter_" if "peft_type" in (model.config or {}) else ""
    if model.config is not None:
        write_json(os.path.join(directory, f"{kind}config.json"), model.config)
    with open(os.path.join(directory, f"{kind}model.safetensors"), "xb", buffering=0) as file:
        write_all(file, memoryview(write_header(forms, {"format": "pt"})))
        for key, _, _ in forms:
            write_array(file, key, model.tensors[key])
    return directory


def write_json(path: str, value: Any) -> None:
    # In the place of a link to another configuration.
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    with open(path, "x", encoding="utf-8") as file:
        json.dump(value, file, default=plain)


def link_files(files: str, directory: str) -> None:
    """Gives a directory the files beside the weights of another one."""
    for entry in os.scandir(files):
        if entry.is_file() and not entry.name.endswith(WEIGHTS):
            os.symlink(os.path.realpath(entry.path), os.path.join(directory, entry.name))


def text_of_recipe(recipe: Mapping[str, Any], scratch: Scratch) -> str:
    """Spells a recipe as the engine takes it in the place of a file; models in memory become paths."""
    return text_of(recipe, lambda model: path_of(model, f"model-{len(scratch.models) + 1}", scratch))


def text_of_experiment(experiment: Mapping[str, Any]) -> str:
    def refuse(model: object) -> str:
        raise TypeError(
            f"an experiment's models are read again when they are scored: give a path or a name of the hub, not {type(model).__name__} in memory"
        )

    return text_of(experiment, refuse)


def text_of(file: Mapping[str, Any], path: Callable[[Any], str]) -> str:
    """Spells what a file would have, as JSON.

    Args:
        path: gives the path of a model in memory
    """

    def spelt(value: Any) -> Any:
        if in_memory(value):
            return path(value)
        if isinstance(value, Mapping):
            return {key: spelt(one) for key, one in cast("Mapping[str, Any]", value).items()}
        if isinstance(value, (list, tuple)):
            return [spelt(one) for one in cast("Sequence[Any]", value)]
        return value

    return json.dumps(spelt(file), indent=1, default=plain)
