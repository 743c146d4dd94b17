#!/usr/bin/env python3
"""Compares two checkpoints element by element in bfloat16.   compare.py A B [--case CASES NAME NAME=DIR...]

Distances are in units in the last place: steps between neighbouring bfloat16 numbers, with one zero. With a
case whose method cuts at a threshold, undecided elements are counted separately, and so are whole tensors
whose quantiles mergekit samples (arcee_fusion, above a million elements). Prints JSON.
"""
import argparse, glob, json
import numpy as np, torch
from safetensors import safe_open
from ties_at_threshold import undecided

torch.set_num_threads(2)
SAMPLED = 1_000_000


class Checkpoint:

    def __init__(self, directory):
        self.files = {}
        for path in sorted(glob.glob(f'{directory}/*.safetensors')):
            file = safe_open(path, 'pt')
            self.files.update(dict.fromkeys(file.keys(), file))

    def keys(self):
        return self.files.keys()

    def get(self, name):
        return self.files[name].get_tensor(name)


def steps(tensor):
    """Bfloat16 numbers as consecutive integers, −0 and +0 both 0."""
    bits = tensor.to(torch.bfloat16).contiguous().view(torch.int16).numpy().astype(np.int32)
    return np.where(bits < 0, -(bits & 0x7fff), bits)


def compare(a, b, case=None, models=None):
    first, second = Checkpoint(a), Checkpoint(b)
    names, others = set(first.keys()), set(second.keys())
    inputs = {name: Checkpoint(path) for name, path in (models or {}).items()}
    layers = 1 + max((int(name.split('.layers.')[1].split('.')[0]) for name in names if '.layers.' in name), default=0)
    result = {'only_a': sorted(names - others), 'only_b': sorted(others - names), 'elements': 0, 'differing': 0, 'beyond': 0,
              'undecided': 0, 'undecided_beyond': 0, 'sampled': 0, 'sampled_beyond': 0, 'worst': None}
    threshold = case and case.get('threshold')
    for name in sorted(names & others):
        x, y = first.get(name), second.get(name)
        if x.shape != y.shape:
            raise SystemExit(f'{name}: {tuple(x.shape)} and {tuple(y.shape)}')
        distance = np.abs(steps(x) - steps(y))
        count, beyond = int(distance.size), int((distance > 1).sum())
        if threshold == 'importance' and count > SAMPLED:
            result['sampled'] += count
            result['sampled_beyond'] += beyond
            continue
        if threshold:
            recipe = case['recipe']
            wanted = {recipe['base_model'], *(model['model'] for model in recipe['models'])}
            marks = undecided(case, recipe, name, {model: inputs[model].get(name).float().numpy() for model in wanted},
                              y.float().numpy(), layers)
            result['undecided'] += int(marks.sum())
            result['undecided_beyond'] += int((distance > 1)[marks].sum())
            distance = np.where(marks, 0, distance)
            beyond = int((distance > 1).sum())
        result['elements'] += count
        result['differing'] += int((distance > 0).sum())
        result['beyond'] += beyond
        farthest = int(distance.max(initial=0))
        if farthest and (result['worst'] is None or (beyond, farthest) > (result['worst']['beyond'], result['worst']['ulp'])):
            at = np.unravel_index(int(distance.argmax()), distance.shape)
            result['worst'] = {'tensor': name, 'beyond': beyond, 'ulp': farthest, 'at': [int(i) for i in at],
                               'a': float(x[at]), 'b': float(y[at])}
    return result


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('a')
    parser.add_argument('b')
    parser.add_argument('--case', nargs='+', metavar=('CASES', 'NAME'))
    arguments = parser.parse_args()
    case, models = None, None
    if arguments.case:
        path, name, *pairs = arguments.case
        case = next(case for case in json.load(open(path)) if case['name'] == name)
        models = dict(pair.split('=', 1) for pair in pairs)
    print(json.dumps(compare(arguments.a, arguments.b, case, models)))
