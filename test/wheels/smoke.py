"""Swaps two small experts by the command of this Python's layerloom, and compares every element with Algorithm 1.

    python smoke.py LAYERLOOM      in an empty directory; LAYERLOOM is the command's path
"""

import array
import json
import struct
import subprocess
import sys
from pathlib import Path

NAMES = ["model.embed_tokens.weight", *(f"model.layers.{layer}.mlp.up_proj.weight" for layer in range(3))]
# Longer than a vector of any instruction set, with a rest.
ELEMENTS = 1000 + 13


def write_expert(directory: str, value: float) -> None:
    size = 4 * ELEMENTS
    header = {
        name: {"dtype": "F32", "shape": [ELEMENTS], "data_offsets": [index * size, (index + 1) * size]}
        for index, name in enumerate(NAMES)
    }
    text = json.dumps(header).encode()
    data = array.array("f", [value]) * (ELEMENTS * len(NAMES))
    Path(directory).mkdir()
    Path(directory, "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data.tobytes())


def values_of(directory: str) -> list[float]:
    """The one value of each tensor."""
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
    return [values[name] for name in NAMES]


write_expert("math", 1)
write_expert("swahili", 3)
words = ["swap", "--task", "math", "--lang", "swahili", "--bottom", "1", "--top", "1", "-o", "merged"]
subprocess.run([sys.argv[1], *words], check=True)
found = values_of("merged")
assert found == [2, 3, 1, 3], found
print("a swap gives what Algorithm 1 says")
