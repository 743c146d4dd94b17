"""Modular training by a partition of a model's parameters.

The modules are those of `layerloom_train`, which `layerloom train init` copies into a run's directory under
that name.
"""

try:
    from layerloom_train import (
        PartBatchSampler as PartBatchSampler,
        Partition as Partition,
        Parts as Parts,
        SimultaneousMixin as SimultaneousMixin,
        checkpoint_name as checkpoint_name,
        freeze as freeze,
        load_sharded as load_sharded,
        read_partition as read_partition,
        schedule_of_parts as schedule_of_parts,
    )
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        f"layerloom.train needs {missing.name}: pip install 'layerloom[train]'", name=missing.name
    ) from missing
