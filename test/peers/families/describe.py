"""Describes the files of families: describe.py OUT [NAME...]

Writes OUT/NAME.json for each family of models.py: the configuration's `model_type`, the stacks and their
numbers of layers, and every stored tensor's shape and module classes below the layer. Layers with equal
descriptions share a line: `layers.{0,2}.`. Tests take a tensor's role from the classes instead of its name.
"""
import json, os, re, sys, tempfile
from torch import nn
import transformers
from safetensors import safe_open
from models import families, model_of


def stored(directory):
    for file in sorted(os.listdir(directory)):
        if file.endswith('.safetensors'):
            with safe_open(os.path.join(directory, file), 'pt') as opened:
                for name in opened.keys():
                    yield name, list(opened.get_slice(name).get_shape())


def stacks_of(model):
    lists = {path: module for path, module in model.named_modules() if isinstance(module, nn.ModuleList)}
    stacks = {path: of for path, of in lists.items()
              if len(of) > 1 and re.search(r'(^|\.)(layers?|h|\w*blocks?)$', path) and not re.search(r'\.\d+\.', path)}
    return {path: len(of) for path, of in stacks.items()}


def classes_of(modules, name, stacks):
    """The classes below the layer, or below the model; empty if the model has no tensor of that name."""
    path = name.split('.')[:-1]
    ends = ('.'.join(path[first:]) for first in range(len(path)))
    found = next((min(those, key=len) for those in ([p for p in modules if p == end or p.endswith('.' + end)]
                                                    for end in ends) if those), None)
    if found is None:
        return []
    parts = found.split('.')
    above = [stack for stack in stacks if found.startswith(stack + '.')]
    first = len(above[0].split('.')) + 1 if above else 0
    inside = [modules['.'.join(parts[:end + 1])] for end in range(first, len(parts))]
    return [type(module).__name__ for module in inside if not isinstance(module, (nn.ModuleList, nn.ModuleDict))]


def made_by(config):
    return f'diffusers {config["_diffusers_version"]}' if '_class_name' in config else f'transformers {transformers.__version__}'


def main(out, *names):
    os.makedirs(out, exist_ok=True)
    for name in names or families:
        model = model_of(name)
        stacks, modules = stacks_of(model), {path: of for path, of in model.named_modules() if path}
        lines = {}
        with tempfile.TemporaryDirectory() as directory:
            model.save_pretrained(directory)
            config = json.load(open(os.path.join(directory, 'config.json')))
            for tensor, shape in stored(directory):
                classes = '/'.join(classes_of(modules, tensor, stacks))
                found = re.match(r'((?:.*?\.)?(?:layers?|h|\w*blocks?))\.(\d+)\.(.*)', tensor)
                key = (found[1], found[3]) if found else (tensor, None)
                lines.setdefault((*key, json.dumps(shape), classes), []).append(found[2] if found else None)
        kept = {key: config[key] for key in ('model_type', 'tie_word_embeddings', '_class_name') if key in config}
        if 'text_config' in config:
            kept['text_config'] = {'model_type': config['text_config']['model_type']}
        rows = []
        for (before, after, shape, classes), numbers in lines.items():
            numbers = ','.join(str(n) for n in sorted(map(int, numbers))) if after is not None else ''
            whole = before if after is None else f'{before}.{{{numbers}}}.{after}'
            rows.append(f'    {json.dumps(whole)}: [{json.dumps(classes)}, {shape}]')
        with open(os.path.join(out, f'{name}.json'), 'w') as file:
            file.write('{\n' + f'  "madeBy": "{made_by(config)}",\n  "config": {json.dumps(kept)},\n'
                       f'  "stacks": {json.dumps(stacks)},\n  "tensors": {{\n' + ',\n'.join(rows) + '\n  }\n}\n')


main(*sys.argv[1:])
