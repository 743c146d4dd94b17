"""Models in memory, passed to the engine as files in shared memory."""

import contextlib
import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any, Protocol, TypeAlias, cast

from ._arrays import form_of, is_array, is_torch, write_all, write_array
from ._errors import named, system_limits
from ._memory import parts_of
from ._merged import Merged, StrPath, path_text
from ._peft import base_of, has_adapters, unwrapped, whole_state
from ._plain import items_of, mapping_of, scalar_of
from ._safetensors import DTYPES, write_header
from ._scratch import Scratch

WEIGHTS = (".safetensors", ".index.json", ".bin", ".pt", ".pth", ".ckpt", ".gguf", ".h5", ".msgpack")


class Module(Protocol):
    """A transformers model, or another torch module."""

    @property
    def state_dict(self) -> Callable[..., Any]: ...


class Model:
    """Tensors in memory as a model.

    Args:
        tensors: arrays of NumPy or tensors of torch by name, or a module of torch
        config: the contents of `config.json` (for an adapter, of `adapter_config.json`): a mapping, or a configuration of
            transformers or PEFT; default: the module's
        files: a directory with further files of the model, such as the tokenizer
        name: the model's name in results
    """

    def __init__(
        self, tensors: Mapping[str, Any] | Module, *, config: Any = None, files: StrPath | None = None, name: str | None = None
    ) -> None:
        if name is not None:
            check_name(name)
        # Settings of an unmerged adapter; the engine merges the adapter.
        self.adapter: dict[str, Any] | None = None
        with named("config"):
            self.config = plain_config(config)
        if isinstance(tensors, Mapping):
            self.tensors = tensors
        else:
            module = unwrapped(tensors)
            if not callable(getattr(module, "state_dict", None)):
                raise TypeError(f"tensors: expected a mapping from names to arrays, or a module of torch, got {type(tensors).__name__}")
            state, self.adapter = whole_state(module) if has_adapters(module) else (module.state_dict(), None)
            self.tensors = once(state)
            if config is None:
                self.config = config_of(base_of(module))
        with named("files"):
            self.files = None if files is None else path_text(files)
        self.name = name
        self.kept_wide = set(getattr(tensors, "_keep_in_fp32_modules_strict", None) or ())
        for key, value in cast("Mapping[object, Any]", self.tensors).items():
            if not isinstance(key, str) or key == "__metadata__" or key.encode(errors="replace") != key.encode(errors="ignore"):
                raise (ValueError if isinstance(key, str) else TypeError)(f"tensors: {key!r} cannot be the name of a tensor in a file")
            if not is_array(value):
                raise TypeError(f"{key}: expected an array of NumPy or a tensor of torch, got {type(value).__name__}")


def check_name(name: object) -> None:
    if not isinstance(name, str):
        raise TypeError(f"name: expected a text, got {name!r}")
    if name == "" or name.startswith(".") or set(name) & set("/=+\0"):
        raise ValueError(f"name: expected the name of a folder, got {name!r}")


ModelLike: TypeAlias = StrPath | Mapping[str, Any] | Module | Model
"""A directory, a file of weights, `org/name` of the hub, `BASE+ADAPTER`; or a model in memory."""


def once(state: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a module's tensors. Tensors that share memory are returned once, as in files."""
    seen: set[tuple[Any, ...]] = set()
    tensors: dict[str, Any] = {}
    for name, tensor in state.items():
        place = (tensor.data_ptr(), tensor.device, tuple(tensor.shape), tensor.stride()) if is_torch(tensor) else (name,)
        if place not in seen or tensor.numel() == 0:
            tensors[name] = tensor
        seen.add(place)
    return tensors


def config_of(module: Module) -> dict[str, Any] | None:
    config = plain_config(getattr(module, "config", None))
    return config if config is None else {**config, "architectures": config.get("architectures") or [type(module).__name__]}


def with_dtype(config: dict[str, Any], dtypes: set[str]) -> dict[str, Any]:
    """Returns a configuration with the weights' dtype, in which transformers loads them: casting a module
    does not change its configuration. For mixed dtypes, this is a dtype that holds all values.

    Args:
        dtypes: of the tensors, except those that transformers always keeps in float32
    """
    floating = dtypes & {"BF16", "F16", "F32", "F64"}
    if not floating or "quantization_config" in config or "peft_type" in config:
        return config
    one = next(iter(floating)) if len(floating) == 1 else None
    dtype = DTYPES[one or ("F64" if "F64" in floating else "F32")].name

    def of(part: dict[str, Any]) -> dict[str, Any]:
        return {
            key: dtype
            if key in ("dtype", "torch_dtype")
            else of(cast("dict[str, Any]", value))
            if key.endswith("_config") and key not in ("quantization_config", "generation_config") and isinstance(value, dict)
            else value
            for key, value in part.items()
        }

    named = of(config)
    # Without a dtype in the configuration, a loader uses the dtype of a single tensor.
    return named if one is not None or "dtype" in config or "torch_dtype" in config else {**named, "dtype": dtype}


def plain_config(config: Any) -> dict[str, Any] | None:
    if config is None:
        return None
    if hasattr(config, "to_json_string"):
        whole: dict[str, Any] = json.loads(config.to_json_string(use_diff=False))
        return whole
    given: object = config.to_dict() if hasattr(config, "to_dict") else config
    if not isinstance(given, Mapping):
        raise TypeError(f"expected a mapping, or a configuration of transformers or PEFT, got {type(config).__name__}")
    # JSON allows only text as keys.
    return cast("dict[str, Any]", json.loads(json.dumps(dict(cast("Mapping[str, Any]", given)), default=plain)))


def plain(value: Any) -> Any:
    """Converts a configuration's value to one that JSON supports."""
    # PEFT keeps module names in sets, whose order has no meaning.
    if isinstance(value, (set, frozenset)):
        return sorted(cast("set[Any]", value))
    for known in (scalar_of(value), mapping_of(value), items_of(value)):
        if known is not None:
            return known
    raise TypeError(f"expected a value of JSON, got {type(value).__name__}")


def in_memory(value: object) -> bool:
    if isinstance(value, (Model, Merged)):
        return True
    if isinstance(value, Mapping):
        tensors = cast("Mapping[Any, object]", value)
        return len(tensors) > 0 and all(map(is_array, tensors.values()))
    return callable(getattr(value, "state_dict", None))


def named_models(value: Mapping[str, Any]) -> list[tuple[Any, str]]:
    """Returns the models in memory, by name, of a mapping."""
    for name, one in value.items():
        if not in_memory(one):
            raise TypeError(f"{name}: only a model in memory is given by name, not {type(one).__name__}; a list takes paths too")
        check_name(name)
    return [(one, name) for name, one in value.items()]


def path_of(value: Any, name: str, scratch: Scratch, own: str | None = None) -> str:
    """Writes a model in memory, once for each call, and returns its path.

    Args:
        own: its name whatever its position
    """
    key = (id(value), own)
    if key not in scratch.models:
        with system_limits(own or name):
            scratch.models[key] = (value, written(value, name, own, scratch))
    return scratch.models[key][1]


def written(value: Any, name: str, own: str | None, scratch: Scratch) -> str:
    """Writes a model in memory to a directory of shared memory. Unless the engine can read its tensors in place,
    copies their bytes once, a tensor at a time."""
    if isinstance(value, Merged):
        directory = os.path.join(scratch.directory(value.nbytes), own or name)
        value.save(directory)
        return directory
    model = value if isinstance(value, Model) else Model(value)
    forms = [(key, *form_of(key, array)) for key, array in model.tensors.items()]
    # The largest elements come first, so that all are aligned.
    forms.sort(key=lambda form: -DTYPES[form[1]].size)
    size = sum(DTYPES[dtype].size * math.prod(shape) for _, dtype, shape in forms)
    header = write_header(forms, {"format": "pt"})
    kind = "adapter_" if "peft_type" in (model.config or {}) else ""
    is_whole = scratch.in_place and not kind and model.adapter is None
    # A mapping that makes an array at each look-up would have to hold all arrays at once.
    is_held = is_whole and all(model.tensors[key] is model.tensors[key] for key, _, _ in forms[:1])
    parts = parts_of(header, (model.tensors[key] for key, _, _ in forms)) if is_held else None
    directory = os.path.join(scratch.directory(size if parts is None else 0), own or model.name or name)
    os.mkdir(directory)
    if model.files is not None:
        link_files(model.files, directory)
    config = model.config if model.config is not None else config_in(directory)
    if config is not None:
        dtypes = {dtype for key, dtype, _ in forms if model.kept_wide.isdisjoint(key.split("."))}
        write_json(os.path.join(directory, f"{kind}config.json"), with_dtype(config, dtypes))
    if model.adapter is not None:
        write_json(os.path.join(directory, "adapter_config.json"), model.adapter)
    path = os.path.join(directory, f"{kind}model.safetensors")
    if parts is not None:
        # The directory has only the file's name, so opening it as a file fails.
        os.symlink("/dev/null/memory", path)
        scratch.memory[path] = parts
        return directory
    with open(path, "xb", buffering=0) as file:
        write_all(file, memoryview(header))
        for key, _, _ in forms:
            write_array(file, key, model.tensors[key])
    return directory


def config_in(directory: str) -> dict[str, Any] | None:
    """Reads `config.json`, or returns None if it is missing or unreadable; the engine reports that."""
    with (
        contextlib.suppress(OSError, ValueError, RecursionError),
        open(os.path.join(directory, "config.json"), encoding="utf-8") as file,
    ):
        config: Any = json.load(file)
        return cast("dict[str, Any]", config) if isinstance(config, dict) else None
    return None


def write_json(path: str, value: Any) -> None:
    # Replaces a link to another configuration.
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    with open(path, "x", encoding="utf-8") as file:
        json.dump(value, file, default=plain)


def link_files(files: str, directory: str) -> None:
    with os.scandir(files) as entries:
        for entry in entries:
            # An adapter's settings belong to the weights beside them.
            if entry.is_file() and not entry.name.endswith(WEIGHTS) and entry.name != "adapter_config.json":
                os.symlink(os.path.realpath(entry.path), os.path.join(directory, entry.name))


def text_of_recipe(recipe: Mapping[str, Any], scratch: Scratch) -> str:
    def path(model: Any, own: str | None) -> str:
        return path_of(model, f"model-{len(scratch.models) + 1}", scratch, own)

    return text_of(recipe, path)


def text_of_experiment(experiment: Mapping[str, Any]) -> str:
    def refuse(model: object, _: str | None) -> str:
        raise TypeError(
            f"an experiment's models are read again when they are scored: give a path or a name of the hub, not {type(model).__name__} in memory"
        )

    return text_of(experiment, refuse)


def text_of(file: Mapping[str, Any], path: Callable[[Any, str | None], str]) -> str:
    """Spells a file's contents as JSON.

    Args:
        path: returns the path of a model in memory, which may have a name
    """

    def spelt(value: Any, place: str) -> Any:
        scalar = scalar_of(value)
        if value is None or scalar is not None:
            return finite(scalar, place)
        if in_memory(value):
            return path(value, None)
        entries = mapping_of(value)
        if entries is not None:
            if place.endswith("models") and len(entries) > 0 and all(map(in_memory, entries.values())):
                return [path(one, name) for one, name in named_models(entries)]
            return {key: spelt(one, f"{place}.{key}" if place else str(key)) for key, one in entries.items()}
        items = items_of(value)
        if items is None:
            raise TypeError(f"{place}: expected a value of JSON or a model, got {type(value).__name__}{hint_of(value)}")
        return [spelt(one, f"{place}[{index}]") for index, one in enumerate(items)]

    try:
        return json.dumps(spelt(file, ""), indent=1)
    except RecursionError:
        raise ValueError("expected a value of JSON, got one that contains itself") from None


def finite(number: Any, place: str) -> Any:
    if isinstance(number, float) and not math.isfinite(number):
        raise ValueError(f"{place}: expected a finite number, got {number}")
    return number


def hint_of(value: object) -> str:
    """Suggests a replacement for items without an order, or that can be read only once."""
    if isinstance(value, Set):
        return ", which has no order: give a list"
    return ": give list(…) of it" if isinstance(value, Iterable) and not isinstance(value, Mapping) else ""
