"""Merges fine-tuned LLM checkpoints by layer swapping: exact, fast, small in memory."""

from os import path as _path

# Loads names on request, since the command starts by importing this package. Types: __init__.pyi.

if not _path.isfile(_path.join(__path__[0], "_commands.json")):
    raise ImportError("layerloom is not built: run `npm run build` in its repository", name=__name__)

_modules = ("aio", "eval", "results", "train")


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _modules:
        return import_module(f"{__name__}.{name}")
    public = None if name.startswith("_") else import_module(f"{__name__}._public")
    if not hasattr(public, name):
        import sys

        # With them, tracebacks name the nearest.
        package = sys.modules[__name__]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=package)
    return getattr(public, name)


def __dir__() -> list[str]:
    from importlib import import_module

    return [*(name for name in dir(import_module(f"{__name__}._public")) if not name.startswith("_")), *_modules]
