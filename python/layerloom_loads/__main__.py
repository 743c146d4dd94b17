"""Reports how transformers, and PEFT for an adapter, load a folder, without reading a weight.

    python layerloom_loads FOLDER [--base FOLDER]

Prints one line of JSON. The model is built on the device `meta` from its configuration. It is loaded from
empty tensors with the shapes and dtypes of the files' headers: the library itself converts, ties and ignores
names. Code and pickles in the folder are never opened.
"""

import argparse
import json
import os
import sys
from pathlib import Path

VERSION = 1
SHOWN = 100

os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", TRANSFORMERS_VERBOSITY="error", HF_HUB_DISABLE_PROGRESS_BARS="1")
os.environ.update(USE_HUB_KERNELS="0")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

# Adapters whose tensors follow from their configuration alone. Others load tokenizers, files or further models.
ADAPTERS = {"LORA", "ADALORA", "IA3", "LOHA", "LOKR", "OFT", "BOFT", "VERA", "HRA", "LN_TUNING", "FOURIERFT", "VBLORA", "RANDLORA", "TRAINABLE_TOKENS"}


class NotChecked(Exception):
    """The reason why a folder cannot be checked."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="layerloom_loads")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--base", type=Path, help="the model that an adapter is of")
    given = parser.parse_args()
    # Standard output is redirected, because libraries print to it too.
    answer, sys.stdout = sys.stdout, sys.stderr
    open_no_code_of(given.folder, *([] if given.base is None else [given.base]))
    found = {"program": VERSION, **examine(given.folder, given.base)}
    print(json.dumps(found), file=answer)


def open_no_code_of(*folders: Path) -> None:
    """Lets this process open only JSON and safetensors in these folders, even if a library tries to open other
    files."""
    inside = tuple(os.path.join(os.path.realpath(folder), "") for folder in folders)

    def check(event, details):
        path = details[0] if event == "open" else details[1] if event == "import" else None
        if not isinstance(path, str):
            return
        place, name = os.path.split(os.path.abspath(path))
        if os.path.join(os.path.realpath(place), "").startswith(inside) and not name.endswith((".json", ".safetensors")):
            raise PermissionError(f"{name} in the folder is neither JSON nor safetensors, and is not opened")

    sys.addaudithook(check)


def examine(folder: Path, base: Path | None) -> dict:
    """Returns the verdict of this Python's libraries on a folder."""
    try:
        import torch
        import transformers
    except ImportError as error:
        return {"absent": [error.name or str(error)]}
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    versions = {"torch": torch.__version__, "transformers": transformers.__version__}
    try:
        if (folder / "adapter_config.json").exists():
            if (folder / "config.json").exists():
                raise NotChecked("the folder has a model and an adapter, which transformers adds to it")
            try:
                import peft
            except ImportError:
                return {"absent": ["peft"]}
            versions["peft"] = peft.__version__
            result = load_adapter(folder, base)
        else:
            result = load_model(folder)
    except NotChecked as error:
        return {"versions": versions, "notChecked": str(error)}
    return {"versions": versions, **result}


def load_model(folder: Path) -> dict:
    import torch

    tensors = stored_tensors(folder, "model")
    config, kind = model_class(folder)
    layers = getattr(config.get_text_config(), "num_hidden_layers", None)
    if isinstance(layers, int) and layers > len(tensors):
        raise NotChecked(f"config.json says {layers} layers, and the files have {len(tensors)} tensors")
    said = getattr(config, "dtype", None)
    settings = {} if said is None else {"dtype": said}
    try:
        _, info = kind.from_pretrained(
            None,
            config=config,
            state_dict={name: empty(*one) for name, one in tensors.items()},
            device_map="meta",
            output_loading_info=True,
            ignore_mismatched_sizes=True,
            attn_implementation="eager",
            **settings,
        )
    except ImportError as error:
        raise NotChecked(f"its loader needs what is not installed: {first_line(error)}") from error
    except Exception as error:
        return {"class": kind.__name__, **nothing, "refused": first_line(error)}
    stored = {}
    for _, dtype in tensors.values():
        if dtype.is_floating_point and torch.finfo(dtype).bits >= 16:
            stored[str(dtype).removeprefix("torch.")] = stored.get(str(dtype).removeprefix("torch."), 0) + 1
    name = None if said is None else str(said).removeprefix("torch.")
    return {
        "class": kind.__name__,
        "missing": sorted(info["missing_keys"])[:SHOWN],
        "unexpected": sorted(info["unexpected_keys"])[:SHOWN],
        "mismatched": [
            {"tensor": tensor, "stored": list(stored_shape), "model": list(model_shape)}
            for tensor, stored_shape, model_shape in sorted(info["mismatched_keys"])[:SHOWN]
        ],
        "dtype": {"said": name, "stored": stored} if name is not None and stored and name not in stored else None,
        "refused": first_line(info["error_msgs"]) if info.get("error_msgs") else None,
    }


nothing = {"missing": [], "unexpected": [], "mismatched": [], "dtype": None}


def load_adapter(folder: Path, base: Path | None) -> dict:
    import peft
    import torch

    tensors = stored_tensors(folder, "adapter_model")
    settings = adapter_settings(folder)
    place = str(base) if base is not None else settings.base_model_name_or_path
    if place is None:
        raise NotChecked("adapter_config.json names no base: name it with --base")
    config, kind = model_class(place)
    try:
        with torch.device("meta"):
            model = peft.get_peft_model(kind._from_config(config, attn_implementation="eager"), settings)
        state = {name: empty(*one) for name, one in tensors.items()}
        found = peft.set_peft_model_state_dict(model, state, ignore_mismatched_sizes=True, low_cpu_mem_usage=True)
    except Exception as error:
        return {"class": f"PEFT of {kind.__name__}", **nothing, "refused": first_line(error)}
    trained = {name for name, one in model.named_parameters() if one.requires_grad}
    return {
        "class": f"PEFT of {kind.__name__}",
        **nothing,
        "missing": sorted(name for name in found.missing_keys if name in trained)[:SHOWN],
        "unexpected": sorted(found.unexpected_keys)[:SHOWN],
        "refused": None,
    }


def adapter_settings(folder: Path):
    """PEFT's settings for training an adapter, so that the model has the adapter's trained tensors."""
    import peft

    try:
        settings = peft.PeftConfig.from_pretrained(str(folder))
    except Exception as error:
        raise NotChecked(f"this PEFT does not know the configuration: {first_line(error)}") from error
    kind = getattr(settings.peft_type, "value", settings.peft_type)
    if kind not in ADAPTERS:
        raise NotChecked(f"adapters of the kind {kind} are not checked")
    if getattr(settings, "megatron_config", None) is not None:
        raise NotChecked("adapter_config.json names a module of Megatron to import, which is not done")
    settings.inference_mode = False
    # Initial values depend on weights, which are missing. The tensors are the same.
    if isinstance(getattr(settings, "init_lora_weights", None), str):
        settings.init_lora_weights = True
    return settings


def model_class(place):
    """The configuration of a folder or of a cached hub model, and the class that loads its weights."""
    import transformers

    try:
        config = transformers.AutoConfig.from_pretrained(str(place), trust_remote_code=False)
    except OSError as error:
        raise NotChecked(f"no configuration of {place} is here: {first_line(error)}") from error
    except Exception as error:
        raise NotChecked(f"this transformers does not know the configuration: {first_line(error)}") from error
    names = config.architectures or []
    if not names:
        raise NotChecked("config.json names no class in architectures")
    kind = getattr(transformers, str(names[0]), None)
    if not (isinstance(kind, type) and issubclass(kind, transformers.PreTrainedModel)):
        raise NotChecked(f"{names[0]} is no model of this transformers: code in the folder is not run")
    return config, kind


def empty(shape, dtype):
    import torch

    return torch.empty(shape, dtype=dtype, device="meta")


def stored_tensors(folder: Path, name: str) -> dict:
    """The shape and dtype of each tensor in the files that a loader takes: a single file before an index."""
    whole, index = folder / f"{name}.safetensors", folder / f"{name}.safetensors.index.json"
    if not whole.exists() and not index.exists():
        raise NotChecked(f"there is no {whole.name}, and no index of such files; pickled files are not opened")
    files = [whole] if whole.exists() else [folder / shard for shard in shards_of(index)]
    return {tensor: one for file in files for tensor, one in header_of(file).items()}


def shards_of(index: Path) -> list[str]:
    try:
        shards = sorted(set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise NotChecked(f"{index.name} is no index: {first_line(error)}") from error
    for shard in shards:
        if not isinstance(shard, str) or Path(shard).name != shard or not shard.endswith(".safetensors"):
            raise NotChecked(f"{index.name} names {str(shard)[:200]}, which is no safetensors file beside it")
    return shards


def header_of(file: Path) -> dict:
    from safetensors import safe_open

    found = {}
    try:
        with safe_open(str(file), framework="pt") as opened:
            for name in opened.keys():
                piece = opened.get_slice(name)
                found[name] = (list(piece.get_shape()), dtype_of(piece.get_dtype()))
    except Exception as error:
        raise NotChecked(f"{file.name} cannot be opened: {first_line(error)}") from error
    return found


def dtype_of(name: str):
    import torch

    dtypes = {
        "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64", "I32": "int32",
        "I16": "int16", "I8": "int8", "U8": "uint8", "U16": "uint16", "U32": "uint32", "U64": "uint64", "BOOL": "bool",
        "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "F8_E8M0": "float8_e8m0fnu", "C64": "complex64",
    }  # fmt: skip
    found = getattr(torch, dtypes.get(name, ""), None)
    if found is None:
        raise NotChecked(f"this torch has no dtype {name}")
    return found


def first_line(error) -> str:
    text = str(error[0] if isinstance(error, list) else error).strip() or type(error).__name__
    return text.splitlines()[0][:500]


if __name__ == "__main__":
    main()
