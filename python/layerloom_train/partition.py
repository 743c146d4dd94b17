"""Reads a partition: which parameter of a model belongs to which part."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

# Prefixes that torch, accelerate and PEFT add to a parameter's name in the checkpoint.
WRAPPERS = re.compile(r"^(?:module\.|_orig_mod\.|base_model\.model\.)+")
ADAPTER = re.compile(r"\.(?:lora_A|lora_B|lora_embedding_A|lora_embedding_B|lora_magnitude_vector)(?:\..*)?$")
WRAPPED = re.compile(r"\.(?:base_layer|modules_to_save\.[^.]+|original_module)(?=\.)")


def checkpoint_name(name: str) -> str:
    """Name of a parameter in its base's checkpoint.

    A module's LoRA parameters get the name of the weight that they change, so that they belong to its part:
    `base_model.model.model.layers.0.mlp.up_proj.lora_A.default.weight` becomes
    `model.layers.0.mlp.up_proj.weight`.
    """
    plain = WRAPPED.sub("", WRAPPERS.sub("", name))
    return ADAPTER.sub(".weight", plain)


# Parts that are not a side: parameters that every side trains, and parameters that no side trains.
BOTH, NEITHER = "both", "neither"


@dataclass(frozen=True)
class Partition:
    """Disjoint parts of a model's parameters, by their names in its checkpoint.

    Training one side (`language`, `task`) updates the side's own part and `both`; `neither` stays as in the
    base.
    """

    parts: dict[str, frozenset[str]]

    def __post_init__(self):
        seen: dict[str, str] = {}
        for part, names in self.parts.items():
            for name in names:
                if name in seen:
                    raise ValueError(f"{name} is in two parts, {seen[name]} and {part}: parts must be disjoint")
                seen[name] = part
        object.__setattr__(self, "_part_of", seen)

    def part_of(self, name: str) -> str:
        """Part of a parameter, by its name in the model or in the checkpoint. Raises KeyError if it is in no part."""
        wanted = checkpoint_name(name)
        try:
            return self._part_of[wanted]
        except KeyError:
            raise KeyError(f"the partition has no {wanted}: it was made for another model") from None

    @property
    def sides(self) -> list[str]:
        """Parts that data can train."""
        return sorted(part for part in self.parts if part not in (BOTH, NEITHER))

    def trained_by(self, side: str) -> frozenset[str]:
        """Names of the parameters that training one side updates. Raises KeyError if there is no such side."""
        self.check(side)
        return self.parts[side] | self.parts.get(BOTH, frozenset())

    def check(self, side: str) -> None:
        """Raises KeyError if the partition has no such side."""
        if side not in self.sides:
            raise KeyError(f"the partition has no side {side!r}; it has {', '.join(self.sides)}")


def read_partition(path: str | Path) -> Partition:
    """Reads a file of `layerloom partition`. Raises ValueError with the file's name for any other file."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf8"))
    except json.JSONDecodeError as error:
        raise ValueError(f"{path} is not JSON: {error}") from error
    parts = content.get("parts") if isinstance(content, dict) else None
    if not isinstance(parts, dict) or not parts:
        raise ValueError(f"{path} has no parts: write it with layerloom partition")
    for part, names in parts.items():
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise ValueError(f"{path}: part {part!r} is not a list of parameter names")
    try:
        return Partition({part: frozenset(names) for part, names in parts.items()})
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
