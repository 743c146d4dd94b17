"""Modular training by a partition of a model's parameters, as `layerloom partition` writes it."""

from .partition import Partition, checkpoint_name, read_partition
from .parts import Parts, freeze
from .sharded import load_sharded
from .simultaneous import PartBatchSampler, SimultaneousMixin, schedule_of_parts

__all__ = [
    "PartBatchSampler",
    "Partition",
    "Parts",
    "SimultaneousMixin",
    "checkpoint_name",
    "freeze",
    "load_sharded",
    "read_partition",
    "schedule_of_parts",
]
