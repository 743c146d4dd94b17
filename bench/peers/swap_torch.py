#!/usr/bin/env python3
"""Algorithm 1 as people write it: safetensors and torch, a state dict at a time.   swap_torch.py TASK LANG OUT BOTTOM TOP"""
import glob, os, re, shutil, sys
from safetensors.torch import load_file, save_file

task, lang, out, bottom, top = sys.argv[1:4] + [int(n) for n in sys.argv[4:6]]
load = lambda d: {k: v for f in sorted(glob.glob(f'{d}/*.safetensors')) for k, v in load_file(f).items()}
T, G = load(task), load(lang)
layers = 1 + max(int(m[1]) for m in map(re.compile(r'layers\.(\d+)\.').search, T) if m)
merged = {}
for name, t in T.items():
    m = re.search(r'layers\.(\d+)\.', name)
    if m is None:
        merged[name] = ((t.float() + G[name].float()) / 2).to(t.dtype)
    else:
        merged[name] = G[name] if int(m[1]) < bottom or int(m[1]) > layers - 1 - top else t
os.makedirs(out, exist_ok=True)
save_file(merged, f'{out}/model.safetensors', metadata={'format': 'pt'})
shutil.copy(f'{task}/config.json', out)
