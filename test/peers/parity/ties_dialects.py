#!/usr/bin/env python3
"""TIES as PEFT and as its authors compute it.   ties_dialects.py peft|paper MERGED BASE EXPERT... --density D
[--lambda L] [--weights W...]

`peft` calls peft.utils.merge_utils.ties on the task vectors of each tensor. `paper` follows the authors'
published code in NumPy (their function names in brackets). Each task vector of the whole model is cut at the
(k + 1)-th largest magnitude, k = ⌊density · n⌋, and keeps all that reach it (topk_values_mask). An element's
sign is that of the plain sum of the rest; if that is zero, the sign of the sum of all signs of the model
(resolve_sign, resolve_zero_signs). If the sign is positive, positive changes are averaged by their count;
else negative ones are, even if the model's sign is zero too (disjoint_merge). Elements equal to PEFT's last
kept magnitude are counted separately ("undecided"). Elements whose changes cancel in the authors' sum are
counted, and compared like all others. Prints JSON.
"""
import argparse, json
import numpy as np, torch
from compare import Checkpoint, steps
from ties_at_threshold import straddling


def whole_model_threshold(deltas, density):
    """The (k + 1)-th largest magnitude of all of an expert's changes, k = ⌊density · n⌋."""
    magnitudes = np.abs(np.concatenate([delta.reshape(-1) for delta in deltas]))
    place = max(0, magnitudes.size - int(magnitudes.size * density) - 1)
    magnitudes.partition(place)
    return magnitudes[place]


def trim(deltas, thresholds):
    return np.stack([np.where(np.abs(delta) >= threshold, delta, np.float32(0)) for delta, threshold in zip(deltas, thresholds)])


def own_signs(trimmed):
    return np.sign(trimmed.sum(axis=0, dtype=np.float32)).astype(np.int8)


def paper(trimmed, majority):
    own = own_signs(trimmed)
    elected = np.where(own == 0, majority, own)
    chosen = np.where(elected > 0, trimmed > 0, trimmed < 0)
    mean = np.where(chosen, trimmed, 0).sum(axis=0, dtype=np.float32) / np.maximum(chosen.sum(axis=0), 1).astype(np.float32)
    return mean, (own == 0) & (trimmed != 0).any(axis=0)


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
        trimmed = lambda name: trim([delta(expert, name) for expert in experts], thresholds)
        majority = np.sign(sum(int(own_signs(trimmed(name)).sum(dtype=np.int64)) for name in base.keys()))
    result = {'elements': 0, 'beyond': 0, 'undecided': 0, 'undecided_beyond': 0, 'cancelled': 0}
    assert set(merged.keys()) == set(base.keys()), 'other tensors'
    for name in sorted(base.keys()):
        if arguments.dialect == 'paper':
            mean, cancelled = paper(trimmed(name), majority)
            marks = np.zeros(mean.shape, bool)
            result['cancelled'] += int(cancelled.sum())
        else:
            mean, marks = peft([delta(expert, name) for expert in experts], weights, arguments.density)
        whole = torch.from_numpy(number(base, name) + np.float32(arguments.scale) * mean)
        far = np.abs(steps(merged.get(name)) - steps(whole)) > 1
        result['elements'] += int(far.size)
        result['undecided'] += int(marks.sum())
        result['undecided_beyond'] += int((far & marks).sum())
        result['beyond'] += int((far & ~marks).sum())
    print(json.dumps(result))
