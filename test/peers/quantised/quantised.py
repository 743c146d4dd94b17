"""Quantised models by the libraries that define their schemes, for quantised.test.ts.

  quantised.py make DIR SCHEME [MODEL...]   makes DIR/CASE/{base,a,b}: quantised tiny or given models;
                                            and DIR/CASE/{base,a,b}-f32, dequantised by the scheme's own code.
  quantised.py check DIR                    compares every DIR/CASE/OUT with these: `values-X` bit for bit,
                                            merges with an independent computation in float32;
                                            one JSON object a line.
  quantised.py load DIR                     loads every OUT by transformers.
"""
import json, os, random, sys

os.environ.setdefault('HF_HUB_OFFLINE', '1')
import numpy as np
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, LlamaConfig

from schemes import schemes


def is_quantised(name, tensor, config):
    """Linear weights of layers, as the libraries choose by default."""
    return name.endswith('_proj.weight') and not any(skip in name for skip in config.get('skip', []))


def tiny(seed, scheme):
    """A Llama of random shapes: multiples of the scheme's requirement, but not of its blocks."""
    rng = random.Random(seed)
    step = scheme.step
    heads, kv = rng.choice([(2, 1), (2, 2), (4, 2), (3, 3)])
    head = 2 * rng.choice([4, 5, 8, 9, 12])
    while heads * head % step or kv * head % step:
        head += 2
    return LlamaConfig(vocab_size=rng.choice([64, 80, 96]), hidden_size=heads * head, num_attention_heads=heads,
                       num_key_value_heads=kv, head_dim=head, intermediate_size=step * rng.randrange(-(-40 // step), -(-180 // step)),
                       num_hidden_layers=rng.choice([4, 5, 6]), max_position_embeddings=64,
                       tie_word_embeddings=seed % 2 == 0, torch_dtype='bfloat16')


def write(directory, stored, config, quantisation=None):
    os.makedirs(directory, exist_ok=True)
    save_file({name: tensor.contiguous() for name, tensor in stored.items()},
              os.path.join(directory, 'model.safetensors'), metadata={'format': 'pt'})
    settings = dict(config)
    settings.pop('quantization_config', None)
    if quantisation is not None:
        settings['quantization_config'] = quantisation
    with open(os.path.join(directory, 'config.json'), 'w') as file:
        json.dump(settings, file, indent=2)


def make(directory, scheme, models):
    if models:
        configs = [None]
    else:
        configs = [scheme.tiny(seed) if hasattr(scheme, 'tiny') else tiny(seed, scheme) for seed in range(10)]
    for seed, config in enumerate(configs):
        case = os.path.join(directory, 'real' if models else f'tiny-{seed}')
        torch.manual_seed(seed)
        if models:
            states = [load_file(os.path.join(model, 'model.safetensors')) for model in models]
            settings = json.load(open(os.path.join(models[0], 'config.json')))
        else:
            base = AutoModelForCausalLM.from_config(config).to(torch.bfloat16)
            settings = base.config.to_dict()
            settings['architectures'] = [type(base).__name__]
            first = {name: tensor for name, tensor in base.state_dict().items()
                     if not (config.tie_word_embeddings and name == 'lm_head.weight')}
            states = [first] + [{name: (tensor.float() + torch.randn(tensor.shape) * 0.01).to(tensor.dtype)
                                 for name, tensor in first.items()} for _ in range(2)]
        for name, state in zip(['base', 'a', 'b'], states):
            stored, quantisation, values = scheme.quantise(state, settings, seed)
            write(os.path.join(case, name), stored, settings, quantisation)
            write(os.path.join(case, name + '-f32'), values, {**settings, 'torch_dtype': 'float32', 'dtype': 'float32'})


def bf16(x):
    return torch.from_numpy(np.ascontiguousarray(x, dtype=np.float32)).to(torch.bfloat16)


def soup(base, a, b):
    return a * np.float32(0.5) + b * np.float32(0.5)


def ties(base, a, b, density=0.4):
    changes = []
    for expert in (a, b):
        change = (expert - base).astype(np.float32)
        flat = np.abs(change).ravel()
        kept = max(int(density * flat.size), 1)
        order = np.lexsort((np.arange(flat.size), -flat.astype(np.float64)))[:kept]
        mask = np.zeros(flat.size, bool)
        mask[order] = True
        changes.append(np.where(mask.reshape(change.shape), change, np.float32(0)))
    total = changes[0] + changes[1]
    sign = np.where(total >= 0, np.float32(1), np.float32(-1))
    agree = [(np.sign(change) == sign) for change in changes]
    summed = sum(np.where(yes, change, np.float32(0)) for yes, change in zip(agree, changes))
    count = sum(yes.astype(np.float32) for yes in agree)
    return base + summed / np.where(count == 0, np.float32(1), count)


def slerp(base, a, b, t=0.3):
    x, y = a.astype(np.float64).ravel(), b.astype(np.float64).ravel()
    cosine = np.clip(x @ y / (np.linalg.norm(x) * np.linalg.norm(y)), -1, 1)
    if abs(cosine) > 0.9995:
        return (1 - t) * a.astype(np.float64), t * b.astype(np.float64)
    angle = np.arccos(cosine)
    return [(np.sin(share * angle) / np.sin(angle) * values).reshape(a.shape) for share, values in ((1 - t, x), (t, y))]


def layer_of(name):
    parts = name.split('.')
    return int(parts[parts.index('layers') + 1]) if 'layers' in parts else None


def swap(name, layers, a, b):
    layer = layer_of(name)
    if layer is None or layer in (1, layers - 2):
        return a * np.float32(0.5) + b * np.float32(0.5)
    return b if layer in (0, layers - 1) else a


def steps(x, y):
    def key(t):
        bits = t.view(torch.int16).to(torch.int32)
        return torch.where(bits < 0, -(bits & 0x7FFF), bits)
    return (key(x) - key(y)).abs()


def load(directory):
    tensors = {}
    for file in sorted(os.listdir(directory)):
        if file.endswith('.safetensors'):
            tensors.update(load_file(os.path.join(directory, file)))
    return tensors


def check(directory):
    for case in sorted(os.listdir(directory)):
        at = os.path.join(directory, case)
        values = {name: load(os.path.join(at, name + '-f32')) for name in ('base', 'a', 'b')}
        layers = 1 + max(layer_of(name) or 0 for name in values['base'])
        for out in sorted(os.listdir(at)):
            if out in ('base', 'a', 'b') or out.endswith('-f32'):
                continue
            found = load(os.path.join(at, out))
            config = json.load(open(os.path.join(at, out, 'config.json')))
            report = dict(case=case, out=out, quantised='quantization_config' in config, unequal=0, beyond=0, elements=0,
                          names=sorted(found) == sorted(values['base']))
            method = out.split('-')[0]
            for name in sorted(set(found) & set(values['base'])):
                of = [values[model][name].float().numpy() for model in ('base', 'a', 'b')]
                tensor = found[name]
                report['elements'] += tensor.numel()
                if method == 'values':
                    wanted = values[out.split('-')[1]][name].float()
                    same = tensor.dtype == torch.float32 and torch.equal(tensor.view(torch.int32), wanted.contiguous().view(torch.int32))
                    report['unequal'] += 0 if same else 1
                    continue
                if method == 'slerp':
                    first, second = slerp(*of)
                    sum_, terms = torch.from_numpy(first + second), torch.from_numpy(np.abs(first) + np.abs(second))
                    # Allows for rounding to bfloat16, and a millionth for the angle, whose sums NumPy takes
                    # in another order.
                    bound = sum_.abs() * 2 ** -8 + terms * 1e-6
                    report['unequal'] += int((tensor != sum_.float().to(torch.bfloat16)).sum())
                    report['beyond'] += int(((tensor.double() - sum_).abs() > bound).sum())
                    continue
                wanted = bf16(swap(name, layers, of[1], of[2]) if method == 'swap' else
                              {'soup': soup, 'ties': ties}[method](*of))
                off = steps(wanted, tensor) if tensor.dtype == torch.bfloat16 else torch.ones(1) * 999
                report['unequal'] += int((off > 0).sum())
            print(json.dumps(report), flush=True)


def load_all(directory):
    for case in sorted(os.listdir(directory)):
        at = os.path.join(directory, case)
        for out in sorted(os.listdir(at)):
            if out in ('base', 'a', 'b') or out.endswith('-f32') or out.startswith('values'):
                continue
            model, info = AutoModelForCausalLM.from_pretrained(os.path.join(at, out), output_loading_info=True)
            with torch.no_grad():
                logits = model(torch.arange(8)[None]).logits
            print(json.dumps(dict(case=case, out=out, dtype=str(model.dtype), finite=bool(torch.isfinite(logits).all()),
                                  missing=sorted(info['missing_keys']), unexpected=sorted(info['unexpected_keys']))), flush=True)


if __name__ == '__main__':
    command, directory, *rest = sys.argv[1:]
    if command == 'make':
        make(directory, schemes[rest[0]], rest[1:])
    elif command == 'check':
        check(directory)
    else:
        load_all(directory)
