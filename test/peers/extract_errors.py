"""Errors of adapters: of PEFT's merge of one that layerloom extracted, and the least that its ranks allow.

usage: extract_errors.py BASE EXPERT ADAPTER [MERGEKIT_ADAPTER]
prints {tensor: {"rank", "peft", "least", "mergekit"?}} as JSON
"""

import json
import sys

import torch
from peft import PeftModel
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

torch.set_num_threads(1)
base, expert, adapter, *others = sys.argv[1:]
model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
after = PeftModel.from_pretrained(model, adapter).merge_and_unload().state_dict()
wanted = load_file(f"{expert}/model.safetensors")
mergekit = load_file(f"{others[0]}/adapter_model.safetensors") if others else {}
with open(f"{adapter}/extract-lora.json", encoding="utf-8") as file:
    report = json.load(file)

found = {}
for tensor in report["tensors"]:
    name, rank = tensor["name"], tensor["rank"]
    change = wanted[name].double() - before[name].double()
    values = torch.linalg.svdvals(change)
    figures = {
        "rank": rank,
        "peft": ((change - (after[name].double() - before[name].double())).norm() / change.norm()).item(),
        "least": (values[rank:].norm() / values.norm()).item(),
    }
    prefix = f"base_model.model.{name.removesuffix('.weight')}"
    if mergekit:
        product = mergekit[f"{prefix}.lora_B.weight"].double() @ mergekit[f"{prefix}.lora_A.weight"].double()
        figures["mergekit"] = ((change - product).norm() / change.norm()).item()
    found[name] = figures
json.dump(found, sys.stdout)
