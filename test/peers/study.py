#!/usr/bin/env python3
"""Every merge of an experiment over float32 experts of a bfloat16 base, computed independently in NumPy.
study.py DIR BASE EXPERTS_JSON

Reads experiment.json of DIR and the checkpoints by name (EXPERTS_JSON: name -> directory), computes each
merge from the papers' definitions, and compares all tensors in the output's dtype. Copied, reverted and
evenly averaged elements must be equal; averages by magnitude and TIES may differ by one unit in the last
place, by the order of sums. Prints a line for each method; exits 1 on a difference.
"""
import glob, json, re, struct, sys
from collections import defaultdict
import numpy as np


def load(directory):
    found = {}
    for file in sorted(glob.glob(f'{directory}/*.safetensors')):
        with open(file, 'rb') as f:
            header = json.loads(f.read(struct.unpack('<Q', f.read(8))[0]))
            data = f.read()
        for name, entry in header.items():
            if name == '__metadata__':
                continue
            begin, end = entry['data_offsets']
            raw = data[begin:end]
            if entry['dtype'] == 'BF16':
                values = (np.frombuffer(raw, '<u2').astype(np.uint32) << 16).view(np.float32)
            else:
                assert entry['dtype'] == 'F32', entry['dtype']
                values = np.frombuffer(raw, '<f4')
            found[name] = (entry['dtype'], values.astype(np.float64).reshape(entry['shape']))
    return found


def rounded(x, dtype):
    """Nearest float32, or nearest bfloat16 (ties to even) of it."""
    x = np.asarray(x, dtype=np.float64).astype(np.float32)
    if dtype == 'F32':
        return x
    bits = x.view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)).view(np.float32)


def order(x, dtype):
    """Numbers of one dtype as consecutive integers."""
    bits = np.ascontiguousarray(x, dtype=np.float32).view(np.int32).astype(np.int64)
    bits = bits if dtype == 'F32' else bits >> 16
    most = np.int64(0x7FFFFFFF if dtype == 'F32' else 0x7FFF)
    return np.where(bits < 0, -(bits & most), bits)


root, base_at, experts = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
base = {name: x for name, (_, x) in load(base_at).items()}
models = {name: {n: x for n, (_, x) in load(at).items()} for name, at in experts.items()}
record = json.load(open(f'{root}/experiment.json'))
layer_of = lambda name: int(m[1]) if (m := re.search(r'layers\.(\d+)\.', name)) else None
layers = 1 + max(layer_of(name) or 0 for name in base)
kinds = {kind: {name for name, of in experts.items() if name.startswith(kind)} for kind in ('math', 'swh', 'tel')}
languages = {'swahili': 'swh', 'telugu': 'tel'}


def mavs(model):
    """MAV of each row (an input feature, one column as stored; a vector is one row)."""
    return {n: np.abs((model[n] - base[n]).astype(np.float32).astype(np.float64)).mean(0 if model[n].ndim == 2 else None, keepdims=True).ravel() for n in base}


def magnitude(model):
    rows = np.concatenate(list(mavs(model).values()))
    return 1 / rows.mean()


def average(parts, weights):
    shares = [np.float32(w / sum(weights)) for w in weights]
    out = {}
    for n in base:
        terms = [share * part[n].astype(np.float32) for part, share in zip(parts, shares)]
        for term in terms[1:]:
            terms[0] = terms[0] + term
        out[n] = terms[0].astype(np.float64)
    return out


def swap(task, language, c, weights):
    both = average([task, language], weights)
    bottom, top = c.get('bottom', 5), c.get('top', 2)
    below, above = c.get('bottom_transition', 0), c.get('top_transition', 0)
    def pick(name):
        layer = layer_of(name)
        if layer is None: return both[name]
        if layer < bottom or layer >= layers - top: return language[name]
        if layer < bottom + below or layer >= layers - top - above: return both[name]
        return task[name]
    return {n: pick(n) for n in base}


def ties(parts, density):
    out = {}
    for n in base:
        changes = []
        for part in parts:
            d = (part[n] - base[n]).astype(np.float32).astype(np.float64).ravel()
            kept = np.argsort(-np.abs(d), kind='stable')[: max(1, int(density * d.size))]
            mask = np.zeros(d.size, bool)
            mask[kept] = True
            changes.append(np.where(mask, d, 0))
        changes = np.stack(changes)
        sign = np.where(changes.sum(0) >= 0, 1, -1)
        agree = (changes * sign) > 0
        out[n] = base[n] + ((changes * agree).sum(0) / np.maximum(1, agree.sum(0))).reshape(base[n].shape)
    return out


def revert_rows(model, share):
    """The largest threshold that keeps the share; rows within rounding of it may be either's."""
    rows = mavs(model)
    width = {n: model[n].size // rows[n].size for n in base}
    pairs = sorted(((m, width[n]) for n in base for m in rows[n]), reverse=True)
    total, kept, threshold = sum(w for _, w in pairs), 0, 0
    for m, w in pairs:
        kept += w
        if kept >= share * total:
            threshold = m
            break
    out, unsure = {}, {}
    for n in base:
        view = (lambda x: x[None, :]) if model[n].ndim == 2 else (lambda x: x)
        keep = view(rows[n] >= threshold)
        out[n] = np.where(keep, model[n], base[n])
        near = np.abs(rows[n] - threshold) <= threshold * 2.0 ** -22
        unsure[n] = (np.broadcast_to(view(near), model[n].shape), np.where(keep, base[n], model[n]))
    return out, unsure


as_stored = lambda model, dtype: {n: rounded(x, dtype).astype(np.float64) for n, x in model.items()}
soup_of = lambda names: as_stored(average([models[n] for n in sorted(names)], [1] * len(names)), 'F32')


def expected(merge):
    """The merge before rounding; alternatives for rows within rounding of the threshold; and whether numbers
    must be equal (copies) or may differ."""
    c = {re.sub('[A-Z]', lambda m: '_' + m[0].lower(), key): value for key, value in merge['configuration'].items()}
    method = merge['method']
    kind = 'computed' if method == 'ties' or c.get('weights') == 'magnitude' else 'copies'
    if merge['task'] == 'soup':
        task = soup_of(kinds['math'])
        names = kinds['swh'] | kinds['tel'] if merge['languageExpert'] == 'all-soup' else kinds[languages[merge['language']]]
        return swap(task, soup_of(names), {}, [1, 1]), None, kind
    task = models[merge['task']]
    if method == 'revert':
        if 'target_kept' in c:
            return *revert_rows(task, c['target_kept']), 'copies'
        inside = lambda l: l is None or c.get('bottom', 5) <= l < layers - c.get('top', 2)
        return {n: (task if inside(layer_of(n)) else base)[n] for n in base}, None, 'copies'
    language = models[merge['languageExpert']]
    weights = [magnitude(task), magnitude(language)] if c.get('weights') == 'magnitude' else [1, 1]
    if method == 'layer_swap':
        return swap(task, language, c, weights), None, kind
    if method == 'soup':
        return average([task, language], weights), None, kind
    assert method == 'ties', method
    return ties([task, language], c['density']), None, kind


figures, wrong = defaultdict(lambda: [0, 0, 0, 0]), []
for merge in record['merges']:
    assert merge['state'] == 'done', merge
    want, unsure, kind = expected(merge)
    have = load(f"{root}/{merge['path']}")
    assert set(have) == set(want), merge['name']
    dtypes = {dtype for dtype, _ in have.values()}
    assert len(dtypes) == 1, dtypes
    dtype = dtypes.pop()
    figure = figures[merge['method'] + (' (rows)' if unsure else ''), dtype]
    figure[0] += 1
    for name, x in want.items():
        got = have[name][1].astype(np.float32)
        apart = np.abs(order(rounded(x, dtype), dtype) - order(got, dtype))
        if unsure is not None:
            near, other = unsure[name]
            apart = np.where(near, np.minimum(apart, np.abs(order(rounded(other, dtype), dtype) - order(got, dtype))), apart)
        figure[1] += apart.size
        figure[2] += int((apart == 0).sum())
        figure[3] = max(figure[3], int(apart.max()))
        if apart.max() > (0 if kind == 'copies' else 1):
            wrong.append(f"{merge['name']} {name}: {apart.max()} units apart")
for (method, dtype), (merges, elements, same, most) in sorted(figures.items()):
    print(f'{method} {dtype}: {merges} merges, {elements} elements, {100 * same / elements:.4f} % the same, at most {most} units apart')
print('\n'.join(wrong[:20]))
sys.exit(bool(wrong))
