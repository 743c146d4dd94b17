"""Merges fine-tuned LLM checkpoints by layer swapping: exact, fast, small in memory.

    import layerloom

    merged = layerloom.swap(task="./math-1", lang="./swh-1", bottom=5, top=2, out="./merged")
    print(merged.out, merged.bytes_written)

Merges: swap, soup, merge (any recipe), revert, apply, relayout, transplant, extract_lora. Without `out` they return a
Merged: a mapping from names to arrays in memory. `export` writes other formats. Models are paths, names of the hub, arrays or modules.

Measures: inspect, diff, verify, analyze, suggest, partition.
Studies: run_experiment, evaluate, search, table, report; open gives results as data frames.

A result is a dictionary whose keys are attributes too: `result["bytesRead"]` is `result.bytes_read`. Sizes are in
bytes, durations in seconds. Layers count from 0, at the embeddings. A refused call raises LayerloomError.

`layerloom.aio` has the same functions as coroutines, `layerloom.results` the types of results.
"""

from os import path as _path

# Loads names on request, because the command starts by importing this package. __init__.pyi has their types.

if not _path.isfile(_path.join(__path__[0], "_commands.json")):
    raise ImportError("layerloom is not built: run `npm run build` in its repository", name=__name__)

_modules = ("aio", "eval", "results", "train")


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _modules:
        return import_module(f"{__name__}.{name}")
    if name == "__version__":
        return import_module(f"{__name__}._program").version()
    if name == "__all__":
        return [one for one in __dir__() if one not in ("eval", "open", "__version__")]
    public = None if name.startswith("_") else import_module(f"{__name__}._public")
    if not hasattr(public, name):
        import sys

        # Errors suggest the nearest of these names.
        package = sys.modules[__name__]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=package)
    return getattr(public, name)


def __dir__() -> list[str]:
    from importlib import import_module

    # `train` is missing, because `help` imports all names and `train` needs torch.
    return [*import_module(f"{__name__}._public").__all__, "aio", "eval", "results", "__version__"]
