#!/usr/bin/env python3
"""TIES as PEFT and as its authors compute it.   ties_dialects.py peft|paper MERGED BASE EXPERT... --density D [--lambda L] [--weights W...]

`peft` calls peft.utils.merge_utils.ties on the task vectors of each tensor. `paper` is a NumPy text of the algorithm as its authors
describe and publish it: the task vectors of the whole model are cut at one magnitude, the threshold itself is kept, signs are elected
by the plain sum of what is left, and the survivors of the elected sign are averaged by their count. Where that sum is zero the authors take the sign
that prevails over the whole model; such elements are counted apart, and so are those equal to PEFT's last kept magnitude.
Prints JSON.
"""
import argparse, json
import numpy as np, torch
from compare import Checkpoint, steps
from ties_at_threshold import straddling


def whole_model_threshold(deltas, density):
    """The k-th largest magnitude of all of one expert's changes, k = ⌊density · n⌋."""
    magnitudes = np.abs(np.concatenate([delta.reshape(-1) for delta in deltas]))
    kept = int(density * magnitudes.size)
    return np.inf if kept == 0 else np.partition(magnitudes, magnitudes.size - kept)[magnitudes.size - kept]


def paper(deltas, thresholds):
    """One tensor, and which of its elements have no sign of their own."""
    trimmed = np.stack([np.where(np.abs(delta) >= threshold, delta, np.float32(0)) for delta, threshold in zip(deltas, thresholds)])
    total = trimmed.sum(axis=0, dtype=np.float32)
    elected = np.where(total >= 0, 1, -1)
    chosen = np.sign(trimmed) == elected
    mean = np.where(chosen, trimmed, 0).sum(axis=0, dtype=np.float32) / np.maximum(chosen.sum(axis=0), 1).astype(np.float32)
    return mean, (total == 0) & (trimmed != 0).any(axis=0)


def peft(deltas, weights, density):
    from peft.utils.merge_utils import ties
    mean = ties([torch.from_numpy(delta) for delta in deltas], torch.tensor(weights), density).numpy()
    marks = np.zeros(mean.shape, bool)
    for delta in deltas:
        kept = int(density * delta.size)
        marks |= straddling(np.abs(delta), [delta.size - kept])
    return mean, marks


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('dialect', choices=['peft', 'paper'])
    parser.add_argument('merged')
    parser.add_argument('base')
    parser.add_argument('experts', nargs='+')
    parser.add_argument('--density', type=float, required=True)
    parser.add_argument('--lambda', type=float, default=1.0, dest='scale')
    parser.add_argument('--weights', type=float, nargs='+')
    arguments = parser.parse_args()
    merged, base, *experts = (Checkpoint(path) for path in [arguments.merged, arguments.base, *arguments.experts])
    weights = arguments.weights or [1.0] * len(experts)
    number = lambda checkpoint, name: checkpoint.get(name).float().numpy()
    delta = lambda expert, name: number(expert, name) - number(base, name)
    if arguments.dialect == 'paper':
        thresholds = [whole_model_threshold([delta(expert, name) for name in sorted(base.keys())], arguments.density) for expert in experts]
    result = {'elements': 0, 'beyond': 0, 'undecided': 0, 'undecided_beyond': 0}
    assert set(merged.keys()) == set(base.keys()), 'other tensors'
    for name in sorted(base.keys()):
        deltas = [delta(expert, name) for expert in experts]
        mean, marks = paper(deltas, thresholds) if arguments.dialect == 'paper' else peft(deltas, weights, arguments.density)
        whole = torch.from_numpy(number(base, name) + np.float32(arguments.scale) * mean)
        far = np.abs(steps(merged.get(name)) - steps(whole)) > 1
        result['elements'] += int(far.size)
        result['undecided'] += int(marks.sum())
        result['undecided_beyond'] += int((far & marks).sum())
        result['beyond'] += int((far & ~marks).sum())
    print(json.dumps(result))
