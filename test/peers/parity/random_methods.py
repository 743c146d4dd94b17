#!/usr/bin/env python3
"""Statistics of mergekit's random methods by seed.   random_methods.py RECIPE.json BASE SEEDS MERGED...

Runs the recipe (mergekit's dialect, models as directories) with seeds 1 to SEEDS, then prints {"peer": […],
"merged": […]}. For each of mergekit's merges and each MERGED directory it has three figures over the elements
that any expert changed: the share that differs from the base (`kept`), and the mean and variance of merge −
base. Also prints the number of such elements.
"""
import glob, json, os, sys, tempfile
import numpy as np
from safetensors import safe_open
from make_reference import merge

recipe, base, seeds, *merged = sys.argv[1:]
recipe = json.load(open(recipe))


def load(directory):
    result = {}
    for path in sorted(glob.glob(f'{directory}/*.safetensors')):
        with safe_open(path, 'pt') as file:
            result.update({name: file.get_tensor(name).double().numpy() for name in file.keys()})
    return result


base_tensors = load(base)
names = sorted(base_tensors)
flat = lambda tensors: np.concatenate([tensors[name].reshape(-1) for name in names])
origin = flat(base_tensors)
changed = np.zeros(origin.shape, bool)
for model in recipe['models']:
    changed |= flat(load(model['model'])) != origin


def describe(directory):
    difference = (flat(load(directory)) - origin)[changed]
    return {'kept': float((difference != 0).mean()), 'mean': float(difference.mean()), 'variance': float(difference.var())}


with tempfile.TemporaryDirectory() as root:
    peer = []
    for seed in range(1, int(seeds) + 1):
        merge(recipe, {}, os.path.join(root, 'out'), seed)
        peer.append(describe(os.path.join(root, 'out')))
print(json.dumps({'elements': int(changed.sum()), 'peer': peer, 'merged': [describe(directory) for directory in merged]}))
