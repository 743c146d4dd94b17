#!/usr/bin/env python3
"""Merges by mergekit.   make_reference.py CASES OUT NAME=DIR... [--only CASE...] [--dtype float64]

CASES is a JSON list of {"name", "recipe"}: recipes in mergekit's dialect with model names, whose directories
the command line gives. Arithmetic is in float32 (or the case's own dtype) on the CPU, output is bfloat16, and
tokenizers stay unchanged. Writes each merge to OUT/CASE, and prints {case: seconds} as JSON; for a recipe
that mergekit refuses, {case: message}.
"""
import argparse, json, os, shutil, sys, time

os.environ.setdefault('HF_HUB_OFFLINE', '1')
import torch
from mergekit.config import MergeConfiguration
from mergekit.merge import run_merge
from mergekit.options import MergeOptions

torch.set_num_threads(int(os.environ.get('LAYERLOOM_PYTHON_THREADS', '2')))


def with_models(recipe, models):
    if isinstance(recipe, list):
        return [with_models(item, models) for item in recipe]
    if not isinstance(recipe, dict):
        return recipe
    return {key: models[value] if key in ('model', 'base_model') and value in models else with_models(value, models)
            for key, value in recipe.items()}


def merge(recipe, models, out, seed=None):
    """A merge by mergekit. Default dtypes: computed in float32, written in bfloat16."""
    whole = {'dtype': 'float32', 'out_dtype': 'bfloat16', **with_models(recipe, models)}
    shutil.rmtree(out, ignore_errors=True)
    options = MergeOptions(copy_tokenizer=False, write_model_card=False, quiet=True, random_seed=seed)
    run_merge(MergeConfiguration.model_validate(whole), out, options=options)


def models_of(arguments):
    return dict(argument.split('=', 1) for argument in arguments)


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('cases')
    parser.add_argument('out')
    parser.add_argument('models', nargs='+')
    parser.add_argument('--only', nargs='+')
    parser.add_argument('--dtype')
    arguments = parser.parse_args()
    results = {}
    for case in json.load(open(arguments.cases)):
        if 'recipe' not in case or (arguments.only and case['name'] not in arguments.only):
            continue
        recipe = {**case['recipe'], 'dtype': arguments.dtype} if arguments.dtype else case['recipe']
        start = time.monotonic()
        try:
            merge(recipe, models_of(arguments.models), os.path.join(arguments.out, case['name']))
            results[case['name']] = round(time.monotonic() - start, 2)
        except Exception as error:
            results[case['name']] = f'{type(error).__name__}: {error}'
        print(case['name'], results[case['name']], file=sys.stderr, flush=True)
    print(json.dumps(results))
