#!/usr/bin/env python3
"""Small merges by mergekit for tests without Python.   make_goldens.py OUT.json

A base and three experts of two layers are built from integers, so that another program can rebuild them bit
for bit:

    hash(x)   x ^= x >> 16; x *= 0x7feb352d; x ^= x >> 15; x *= 0x846ca68b; x ^= x >> 16      (modulo 2^32)
    draw(model, tensor, element, salt) = hash(element + 4096 · hash(tensor + 64 · hash(model + 8 · salt)))

with tensors numbered in the order of SHAPES, elements in row-major order, and models base 0, a 1, b 2, c 3.

    norms (one dimension)   base = 160 + draw(0, tensor, element, 0) mod 64,   in units of 2^-7;
    others                  base = draw(0, tensor, element, 0) mod 401 − 200,
                            in units of 2^-11 (embeddings and layer 0) or 2^-16;
    experts                 base + change if draw(model, tensor, element, 1) mod 10 ≥ 3, else base;
                            change = draw(model, tensor, element, 2) mod 81 − 40, of norms mod 7 − 3.

Every number is an integer below 2^8 times a power of two, so exact in bfloat16. Few magnitudes of changes
make many ties. Outputs are the bits of bfloat16 numbers minus those of the base's tensor (modulo 2^16; minus
zero if the base lacks it). Tensors are in order of name, all low bytes before all high ones, deflated, in
base64. Positions that a threshold leaves undecided are bits, least significant first, packed likewise.
"changed" counts the elements that differ from the base, if a cut keeps an exact number of them.
"""
import base64, json, os, sys, tempfile, zlib
from importlib.metadata import version
import numpy as np, torch
from safetensors.torch import load_file, save_file
from make_reference import merge
from ties_at_threshold import undecided

LAYERS = 2
LAYER = {'input_layernorm.weight': [16], 'self_attn.q_proj.weight': [16, 16], 'self_attn.k_proj.weight': [8, 16],
         'self_attn.v_proj.weight': [8, 16], 'self_attn.o_proj.weight': [16, 16], 'post_attention_layernorm.weight': [16],
         'mlp.up_proj.weight': [24, 16], 'mlp.gate_proj.weight': [24, 16], 'mlp.down_proj.weight': [16, 24]}
SHAPES = {'model.embed_tokens.weight': [20, 16],
          **{f'model.layers.{layer}.{name}': shape for layer in range(LAYERS) for name, shape in LAYER.items()},
          'model.norm.weight': [16]}
MODELS = ['base', 'a', 'b', 'c']
CONFIG = {'architectures': ['LlamaForCausalLM'], 'model_type': 'llama', 'hidden_size': 16, 'intermediate_size': 24,
          'num_hidden_layers': LAYERS, 'num_attention_heads': 2, 'num_key_value_heads': 1, 'head_dim': 8, 'vocab_size': 20,
          'max_position_embeddings': 64, 'rms_norm_eps': 1e-5, 'tie_word_embeddings': True, 'dtype': 'bfloat16'}


def hash32(x):
    x = np.asarray(x, np.uint64) & 0xffffffff
    for shift, factor in ((16, 0x7feb352d), (15, 0x846ca68b)):
        x = ((x ^ (x >> np.uint64(shift))) * np.uint64(factor)) & np.uint64(0xffffffff)
    return x ^ (x >> np.uint64(16))


def draw(model, tensor, count, salt):
    row = 4096 * hash32(tensor + 64 * hash32(model + 8 * salt))
    return hash32(np.arange(count, dtype=np.uint64) + row).astype(np.int64)


def tensors_of(model):
    result = {}
    for index, (name, shape) in enumerate(SHAPES.items()):
        count, norm = int(np.prod(shape)), len(shape) == 1
        unit = 7 if norm else 16 if '.layers.1.' in name else 11
        value = 160 + draw(0, index, count, 0) % 64 if norm else draw(0, index, count, 0) % 401 - 200
        if model > 0:
            span = 7 if norm else 81
            change = draw(model, index, count, 2) % span - span // 2
            value = value + np.where(draw(model, index, count, 1) % 10 >= 3, change, 0)
        result[name] = (value.astype(np.float64) * 2.0 ** -unit).astype(np.float32).reshape(shape)
    return result


def differences(result, base):
    """The bits of a merge minus those of the base, all low bytes and then all high bytes."""
    bits = lambda tensor: tensor.to(torch.bfloat16).contiguous().view(torch.int16).numpy().astype(np.uint16).reshape(-1)
    less = [bits(result[name]) - (bits(torch.from_numpy(base[name])) if name in base else np.uint16(0)) for name in sorted(result)]
    return np.concatenate(less).view(np.uint8).reshape(-1, 2).T.tobytes()


def packed(data):
    return base64.b64encode(zlib.compress(data, 9)).decode()


def main(out):
    inputs = {name: tensors_of(index) for index, name in enumerate(MODELS)}
    here = os.path.dirname(os.path.abspath(__file__))
    goldens = []
    with tempfile.TemporaryDirectory() as root:
        models = {name: os.path.join(root, name) for name in MODELS}
        for name, directory in models.items():
            os.makedirs(directory)
            bf16 = {key: torch.from_numpy(value).to(torch.bfloat16) for key, value in inputs[name].items()}
            assert all(bool((value.float() == torch.from_numpy(inputs[name][key])).all()) for key, value in bf16.items())
            save_file(bf16, os.path.join(directory, 'model.safetensors'), {'format': 'pt'})
            json.dump(CONFIG, open(os.path.join(directory, 'config.json'), 'w'))
        for case in json.load(open(os.path.join(here, 'cases.json'))):
            recipe = case.get('golden', case.get('recipe'))
            whole = {'dtype': 'float32', 'out_dtype': 'bfloat16', **recipe}
            merged = os.path.join(root, 'merged')
            merge(recipe, models, merged)
            result = load_file(os.path.join(merged, 'model.safetensors'))
            names = sorted(result)
            golden = {'name': case['name'], 'recipe': whole, 'layers': 1 + max(int(name.split('.')[2]) for name in names if '.layers.' in name),
                      'bf16': packed(differences(result, inputs['base']))}
            if 'threshold' in case:
                marks = [undecided(case, recipe, name, {model: inputs[model][name] for model in MODELS},
                                   result[name].float().numpy(), LAYERS) for name in names]
                flat = np.concatenate([mark.reshape(-1) for mark in marks])
                golden['undecided'] = packed(np.packbits(flat, bitorder='little').tobytes())
                print(case['name'], f'{flat.mean():.3f} undecided', file=sys.stderr)
            if case.get('counted'):
                golden['changed'] = {name: int((result[name].float().numpy() != inputs['base'][name]).sum()) for name in names}
            goldens.append(golden)
    text = {'mergekit': version('mergekit'), 'torch': torch.__version__, 'shapes': SHAPES, 'config': CONFIG, 'goldens': goldens}
    with open(out, 'w') as file:
        json.dump(text, file, indent=1, ensure_ascii=False)


if __name__ == '__main__':
    main(sys.argv[1])
