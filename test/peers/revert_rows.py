#!/usr/bin/env python3
"""Revert by rows, checked in NumPy.   revert_rows.py BASE EXPERT OUT THRESHOLD input|output [TARGET_KEPT]

A row whose MAV is below the threshold must be the base's, any other the expert's, bit for bit. MAV are
float64 here and float32 in layerloom: a row within float32's rounding of the threshold may be either's, and
is counted. With TARGET_KEPT the threshold must keep at least that share of the parameters, and the next
larger MAV must not.
"""
import glob, sys
import numpy as np, torch
from safetensors.torch import load_file

base, expert, out, threshold, sense = *sys.argv[1:4], float(sys.argv[4]), sys.argv[5]
load = lambda d: {k: v for f in sorted(glob.glob(f'{d}/*.safetensors')) for k, v in load_file(f).items()}
B, E, O = load(base), load(expert), load(out)
assert set(E) == set(O), 'other tensors'
bits = lambda t: t.contiguous().view(torch.uint8).numpy().reshape(*t.shape, -1) if t.dim() else t
wrong, near, kept, rows, mavs = 0, 0, 0, 0, []
for name, e in E.items():
    b, o = B[name], O[name]
    d = np.abs(e.to(torch.float64).numpy() - b.to(torch.float64).numpy())
    axis = 0 if sense == 'input' else 1
    mav = d.mean(axis) if d.ndim == 2 else np.array([d.mean()])
    mask = mav >= threshold
    unsure = np.abs(mav / threshold - 1) < 2 ** -23
    eb, bb, ob = (bits(t) for t in (e, b, o))
    if d.ndim == 2 and sense == 'input': view = lambda x: np.moveaxis(x, 1, 0)
    elif d.ndim == 2: view = lambda x: x
    else: view = lambda x: x[None]
    same_e = (view(ob) == view(eb)).reshape(len(mav), -1).all(1)
    same_b = (view(ob) == view(bb)).reshape(len(mav), -1).all(1)
    wrong += int((~np.where(mask, same_e, same_b) & ~unsure).sum()) + int((unsure & ~same_e & ~same_b).sum())
    near += int(unsure.sum()); rows += len(mav); kept += int(mask.sum())
    mavs.append((mav, d.size // len(mav)))
print(f"{'ok' if wrong == 0 else 'WRONG'}: {kept} of {rows} rows kept, {near} within rounding of the threshold, {wrong} wrong")
if len(sys.argv) > 6:
    target, total = float(sys.argv[6]), sum(m.size * p for m, p in mavs)
    share = lambda t: sum(int((m >= t).sum()) * p for m, p in mavs) / total
    above = min(m[m > threshold * (1 + 2 ** -22)].min() for m, _ in mavs if (m > threshold * (1 + 2 ** -22)).any())
    fits = share(threshold * (1 - 2 ** -22)) >= target > share(above)
    print(f"{'ok' if fits else 'WRONG'}: keeps {share(threshold * (1 - 2 ** -22)):.6f}, and {share(above):.6f} at the next larger MAV")
    wrong += not fits
sys.exit(wrong != 0)
