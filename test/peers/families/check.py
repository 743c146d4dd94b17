"""Merges of families by layerloom, compared with NumPy and loaded by the library that made the models.

  check.py make DIR [NAME...]          makes DIR/NAME/base, /a and /b of each family of models.py;
                                       prints its stacks of layers as JSON, a line each.
  check.py compare DIR NAME=STACK...   compares every tensor of DIR/NAME/swap-STACK, /revert-STACK and /soup;
                                       then loads them without a missing or unexpected key,
                                       with the weights of PyTorch's own merge.
"""
import importlib.util, json, os, re, sys
import numpy as np
import torch
import transformers
from safetensors.numpy import load_file
from models import families, model_of

counts = dict(bottom=1, top=1, transition=1)


def weights(directory):
    tensors = {}
    for file in sorted(os.listdir(directory)):
        if file.endswith('.safetensors'):
            tensors.update(load_file(os.path.join(directory, file)))
    return tensors


def stacks_of(model):
    lists = {path: of for path, of in model.named_modules() if isinstance(of, torch.nn.ModuleList)}
    return {path: len(of) for path, of in lists.items() if len(of) > 1 and not re.search(r'\.\d+\.|vision|visual', path)
            and re.search(r'(^|\.)(layers?|h|\w*blocks?)$', path)}


def make(root, *names):
    has_diffusers = importlib.util.find_spec('diffusers') is not None
    for name in names or [one for one in families if has_diffusers or families[one][1] != 'Diffusion']:
        for seed, expert in enumerate(['base', 'a', 'b']):
            model = model_of(name, seed)
            if seed == 0:
                print(json.dumps({'name': name, 'stacks': stacks_of(model), 'diffusion': families[name][1] == 'Diffusion'}))
            model.save_pretrained(f'{root}/{name}/{expert}', max_shard_size='60KB')


def layer_of(name, stack, family):
    if re.search(r'vision|visual', name):
        return None
    if family in ('t5', 't5-gated', 'mt5') and 'relative_attention_bias' in name:
        return None
    word = '.'.join(stack.split('.')[-2 if re.search(r'coder\.', stack) else -1:])
    found = re.search(r'(?:^|\.)' + re.escape(word) + r'\.(\d+)\.', name)
    return int(found[1]) if found else None


def mean(a, b):
    return a if a.dtype.kind != 'f' else (np.float32(0.5) * a + np.float32(0.5) * b).astype(a.dtype)


def check(what, found, expected):
    assert found.keys() == expected.keys(), (what, found.keys() ^ expected.keys())
    for name, tensor in expected.items():
        assert found[name].dtype == tensor.dtype and found[name].tobytes() == tensor.tobytes(), (what, name)


def load(name, directory):
    model_type, kind, _ = families[name]
    if kind == 'Diffusion':
        import diffusers
        found, named = (f'{directory}/{stem}.safetensors' for stem in ('model', 'diffusion_pytorch_model'))
        if os.path.exists(found):
            os.rename(found, named)
        model, info = getattr(diffusers, model_type).from_pretrained(directory, output_loading_info=True)
    else:
        auto = getattr(transformers, 'AutoModel' if kind == 'Model' else f'AutoModelFor{kind}')
        model, info = auto.from_pretrained(directory, output_loading_info=True)
    assert not any(info[key] for key in ('missing_keys', 'unexpected_keys', 'mismatched_keys', 'error_msgs') if key in info), (name, info)
    return model.state_dict()


def compare_one(root, name, stack):
    of = {expert: weights(f'{root}/{name}/{expert}') for expert in ('base', 'a', 'b')}
    layers = {key: layer_of(key, stack, name) for key in of['a']}
    last = max(layer for layer in layers.values() if layer is not None)
    zone = lambda layer: 'mean' if layer is None or counts['bottom'] <= layer < counts['bottom'] + counts['transition'] else (
        'b' if layer < counts['bottom'] or layer > last - counts['top'] else 'a')
    pick = {'a': lambda key: of['a'][key], 'b': lambda key: of['b'][key], 'mean': lambda key: mean(of['a'][key], of['b'][key])}
    expected = {
        f'swap-{stack}': {key: pick[zone(layers[key])](key) for key in of['a']},
        f'revert-{stack}': {key: of['base' if layers[key] in (0, last) else 'a'][key] for key in of['a']},
        'soup': {key: pick['mean'](key) for key in of['a']},
    }
    for what, tensors in expected.items():
        check(f'{name} {what}', weights(f'{root}/{name}/{what}'), tensors)
        load(name, f'{root}/{name}/{what}')
    # PyTorch's soup of the loaded models equals the loaded merge.
    states = [load(name, f'{root}/{name}/{which}') for which in ('a', 'b', 'soup')]
    for key, tensor in states[2].items():
        both = (0.5 * states[0][key] + 0.5 * states[1][key]) if tensor.is_floating_point() else tensor
        assert torch.equal(both, tensor), (name, key)
    print(f'ok: {name} {stack}: {len(expected)} merges of {len(of["a"])} tensors')


def compare(root, *pairs):
    for pair in pairs:
        try:
            compare_one(root, *pair.split('='))
        except Exception as error:
            print(f'failed: {pair}: {type(error).__name__}: {str(error)[:800]}'.replace('\n', ' '))


if __name__ == '__main__':
    dict(make=make, compare=compare)[sys.argv[1]](*sys.argv[2:])
