"""Makes a checkpoint of the small base from its GGUF file, dequantised.   python make_base.py MODEL.gguf OUT"""

import sys
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

source, out = Path(sys.argv[1]), Path(sys.argv[2])
if out.exists():
    raise SystemExit(f"{out} is there; name another directory")
read = AutoModelForCausalLM.from_pretrained(source.parent, gguf_file=source.name, dtype=torch.float32)
config = read.config
if hasattr(config, "quantization_config"):
    del config.quantization_config  # the weights are no longer quantised, and the model is to be saved as any other
model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
model.load_state_dict(read.state_dict())
model.to(torch.bfloat16).save_pretrained(out)
AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name).save_pretrained(out)
