"""Small experts, written by the standard library alone."""

import array
import json
import struct
from pathlib import Path

ELEMENTS = 1000 + 13
"""Longer than a vector of any instruction set, with a rest."""


def names_of(layers: int = 3) -> list[str]:
    return ["model.embed_tokens.weight", *(f"model.layers.{layer}.mlp.up_proj.weight" for layer in range(layers))]


def write_expert(directory: str, value: float, layers: int = 3, elements: int = ELEMENTS) -> None:
    size = 4 * elements
    names = names_of(layers)
    header = {
        name: {"dtype": "F32", "shape": [elements], "data_offsets": [index * size, (index + 1) * size]}
        for index, name in enumerate(names)
    }
    text = json.dumps(header).encode()
    Path(directory).mkdir()
    with open(Path(directory, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _ in names:
            file.write((array.array("f", [value]) * elements).tobytes())


def values_of(directory: str) -> list[float]:
    values: dict[str, float] = {}
    for file in Path(directory).glob("*.safetensors"):
        content = file.read_bytes()
        (length,) = struct.unpack("<Q", content[:8])
        for name, tensor in json.loads(content[8 : 8 + length]).items():
            if name != "__metadata__":
                begin, end = tensor["data_offsets"]
                found = array.array("f", content[8 + length + begin : 8 + length + end])
                assert len(found) == ELEMENTS and len(set(found)) == 1, (name, set(found))
                values[name] = found[0]
    return [values[name] for name in names_of()]
