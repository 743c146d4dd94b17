#!/usr/bin/env python3
"""Loads checkpoints in transformers, fails on any missing, unexpected or mismatched key, and generates:
load.py MODEL..."""
import sys
import torch
from transformers import AutoModelForCausalLM

for path in sys.argv[1:]:
    model, info = AutoModelForCausalLM.from_pretrained(path, output_loading_info=True)
    for key in ('missing_keys', 'unexpected_keys', 'mismatched_keys'):
        assert not info[key], f'{path}: {key}: {sorted(info[key])[:5]}'
    ids = model.generate(torch.tensor([[1, 2, 3]]), max_new_tokens=8, do_sample=False, pad_token_id=0)
    assert ids.shape[1] > 3, path
    print('loaded', model.dtype)
