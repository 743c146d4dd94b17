"""Modular training by a partition of a model's parameters.

The modules are those of `layerloom_train`, which `layerloom train init` copies into a run's directory under
that name.
"""

try:
    from layerloom_train import *
    from layerloom_train import __all__ as __all__
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(f"layerloom.train needs {missing.name}: pip install 'layerloom[train]'", name=missing.name) from missing
