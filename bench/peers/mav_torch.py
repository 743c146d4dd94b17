#!/usr/bin/env python3
"""Row MAV of one expert as people write it: safetensors and torch.   mav_torch.py BASE EXPERT OUT"""
import glob, json, sys
from safetensors.torch import load_file

base, expert, out = sys.argv[1:4]
load = lambda d: {k: v for f in sorted(glob.glob(f'{d}/*.safetensors')) for k, v in load_file(f).items()}
B, E = load(base), load(expert)
tensors, total, rows = {}, 0.0, 0
for name, e in E.items():
    delta = (e.float() - B[name].float()).abs()
    mav = delta.mean(dim=0) if delta.ndim == 2 else delta.mean().reshape(1)
    tensors[name] = {'rows': mav.numel(), 'meanMav': mav.double().mean().item(), 'fractionAbove': (mav > 1e-5).double().mean().item()}
    total, rows = total + mav.double().sum().item(), rows + mav.numel()
json.dump({'meanMav': total / rows, 'tensors': tensors}, open(out, 'w'))
