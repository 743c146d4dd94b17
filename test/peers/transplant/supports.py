"""Chooses rows as mergekit's batch_omp does: supports.py DONOR TENSOR LISTS K, prints JSON.

LISTS has the donor's rows to approximate (`targets`) and the candidates for sums (`atoms`).
"""

import json
import sys
from pathlib import Path

import torch
from mergekit.tokensurgeon import batch_omp
from safetensors import safe_open

donor, name, lists, k = Path(sys.argv[1]), sys.argv[2], json.loads(Path(sys.argv[3]).read_text()), int(sys.argv[4])
with safe_open(donor / "model.safetensors", "pt") as opened:
    rows = opened.get_tensor(name)
atoms, targets = rows[lists["atoms"]], rows[lists["targets"]]
found = [batch_omp(part, atoms, k)[0].tolist() for part in torch.split(targets, 256)]
print(json.dumps([row for part in found for row in part]))
