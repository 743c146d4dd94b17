#!/usr/bin/env python3
"""Measures mergekit's behaviour where recipes are ambiguous, on small checkpoints.   mergekit_facts.py

Prints {fact: measurement} as JSON. Asserts nothing.
"""
import json, os, sys, tempfile
import torch, yaml
from mergekit.architecture.json_definitions import NAME_TO_ARCH
from mergekit.config import MergeConfiguration
from safetensors.torch import load_file, save_file
from make_reference import merge

LAYERS, HIDDEN, INNER, VOCABULARY = 12, 16, 24, 20
LAYER = {'input_layernorm.weight': [HIDDEN], 'self_attn.q_proj.weight': [HIDDEN, HIDDEN], 'self_attn.k_proj.weight': [8, HIDDEN],
         'self_attn.v_proj.weight': [8, HIDDEN], 'self_attn.o_proj.weight': [HIDDEN, HIDDEN], 'post_attention_layernorm.weight': [HIDDEN],
         'mlp.up_proj.weight': [INNER, HIDDEN], 'mlp.gate_proj.weight': [INNER, HIDDEN], 'mlp.down_proj.weight': [HIDDEN, INNER]}
EMBEDDING, NORM = 'model.embed_tokens.weight', 'model.norm.weight'
UP = 'model.layers.{}.mlp.up_proj.weight'.format
root = tempfile.TemporaryDirectory()
models = {}


def write(name, change=None, large=False):
    random = torch.Generator().manual_seed(1)
    shapes = {EMBEDDING: [70_000 if large else VOCABULARY, HIDDEN], NORM: [HIDDEN],
              **{f'model.layers.{layer}.{key}': shape for layer in range(LAYERS) for key, shape in LAYER.items()}}
    tensors = {key: torch.randn(shape, generator=random).mul_(0.05).to(torch.bfloat16) for key, shape in shapes.items()}
    tensors = {key: (change(key, value) if change else value).to(torch.bfloat16).contiguous() for key, value in tensors.items()}
    directory = models[name] = os.path.join(root.name, name)
    os.makedirs(directory)
    save_file(tensors, f'{directory}/model.safetensors', {'format': 'pt'})
    json.dump({'architectures': ['LlamaForCausalLM'], 'model_type': 'llama', 'hidden_size': HIDDEN, 'intermediate_size': INNER,
               'num_hidden_layers': LAYERS, 'num_attention_heads': 2, 'num_key_value_heads': 1, 'head_dim': 8,
               'vocab_size': shapes[EMBEDDING][0], 'tie_word_embeddings': True, 'dtype': 'bfloat16'}, open(f'{directory}/config.json', 'w'))


def noise(seed, scale=0.02):
    random = torch.Generator().manual_seed(seed)
    return lambda _, tensor: tensor.float() + torch.randn(tensor.shape, generator=random) * scale


def model(name, **parameters):
    return {'model': name, 'parameters': parameters}


def run(recipe, seed=None, out='out'):
    try:
        merge(recipe, models, os.path.join(root.name, out), seed)
    except Exception as error:
        return f'{type(error).__name__}: {str(error).splitlines()[0]}'
    return load_file(os.path.join(root.name, out, 'model.safetensors'))


def weights_of(merged, a, b, name):
    """w where merged = w·a + (1 − w)·b, by least squares."""
    a, b, x = (tensors[name].double() for tensors in (a, b, merged))
    return round(float(((x - b) * (a - b)).sum() / ((a - b) ** 2).sum()), 3)


write('base')
write('a', noise(2))
write('b', noise(3))
write('c', noise(4))
inputs = {name: load_file(f'{path}/model.safetensors') for name, path in models.items()}
same = lambda x, y: all(torch.equal(x[name], y[name]) for name in x)
differing = lambda x, y: sum(int((x[name] != y[name]).sum()) for name in x) / sum(x[name].numel() for name in x)
two = [model('a', weight=0.5), model('b', weight=0.5)]
facts = {}

plain = run({'merge_method': 'ties', 'base_model': 'base', 'models': [model('a', weight=1, density=0.5), model('b', weight=1, density=0.5)]})
misspelt = run({'merge_method': 'ties', 'base_model': 'base', 'paramaters': {'lambda': 9}, 'nonsense': 1, 'parameters': {'lambada': 9},
                'models': [model('a', weight=1, density=0.5, densty=0.1), model('b', weight=1, density=0.5)]})
facts['unknown_keys_change_nothing'] = same(plain, misspelt)
facts['weight_is_required'] = run({'merge_method': 'ties', 'base_model': 'base', 'models': [model('a', density=0.5)]})

w = torch.randint(0, 50, (100_000,), generator=torch.Generator().manual_seed(5)).float()
k = 30_000
kept = torch.zeros(w.shape, dtype=torch.bool)
kept[torch.argsort(w, descending=True)[:k]] = True
threshold = torch.sort(w, descending=True).values[k - 1]
tied = kept[w == threshold]
facts['ties_kept'] = {'tied': tied.numel(), 'kept': int(tied.sum()), 'are_the_first': bool(tied[:int(tied.sum())].all()),
                      'are_the_last': bool(tied[-int(tied.sum()):].all())}

many = torch.randn(30_000_000, generator=torch.Generator().manual_seed(6)) * 0.1
facts['norm_of_thirty_million_float32_is_off_by'] = abs(float(torch.norm(many).double() / many.double().norm()) - 1)

fusion = {'merge_method': 'arcee_fusion', 'base_model': 'base', 'models': [model('a')]}
write('large', large=True)
write('large-a', noise(7, 0.01), large=True)
large = {'merge_method': 'arcee_fusion', 'base_model': 'large', 'models': [model('large-a')], 'dtype': 'float64'}
first, second = run(large, 1), run(large, 2, 'again')
facts['sampled_quantiles'] = {'embedding_elements_differing_between_seeds': int((first[EMBEDDING] != second[EMBEDDING]).sum()),
                              'other_elements_differing': sum(int((first[n] != second[n]).sum()) for n in first if n != EMBEDDING)}
write('near', noise(8, 0.0002))
near = {**fusion, 'models': [model('near')]}
facts['fusion_float32_against_float64'] = round(differing(run(near), run({**near, 'dtype': 'float64'}, out='again')), 4)

for method, parameters in (('linear', {}), ('task_arithmetic', {'base_model': 'base'})):
    recipe = {'merge_method': method, 'models': two, **parameters}
    facts[f'{method}_without_dtype_differs_in'] = round(differing(run({**recipe, 'dtype': None, 'out_dtype': None}), run(recipe, out='again')), 4)

sources = lambda a, b, weight: {'sources': [dict(model('a', weight=weight), layer_range=a), dict(model('b', weight=weight[::-1]), layer_range=b)]}
sliced = run({'merge_method': 'linear', 'slices': [sources([0, 1], [0, 1], [0.25, 0.75]), sources([1, 4], [1, 4], [0, 1])]})
between = lambda name: weights_of(sliced, inputs['a'], inputs['b'], name)
facts['gradients'] = {'embedding': between(EMBEDDING), 'one_layer_slice': between(UP(0)), 'first_of_three': between(UP(1)),
                      'second_of_three': between(UP(2)), 'third_of_three': between(UP(3)), 'final_norm': between(NORM)}

with_base = run({'merge_method': 'karcher', 'base_model': 'base', 'models': [model('a'), model('b')]})
facts['karcher_with_base_model_is_the_mean_of_all_three'] = same(
    with_base, run({'merge_method': 'karcher', 'models': [model('a'), model('b'), model('base')]}, out='again'))
facts['linear_with_base_model'] = run({'merge_method': 'linear', 'base_model': 'base', 'models': two})
averaged = run({'merge_method': 'linear', 'base_model': 'base', 'models': [model('a'), model('b')], 'parameters': {'weight': 1}})
third = sum(inputs[name][NORM].double() for name in ('a', 'b', 'base')) / 3
facts['linear_with_base_model_and_a_common_weight_averages_three'] = float((averaged[NORM].double() - third).abs().max()) < 1e-3

write('tiny-a', noise(9, 0.0002))
write('tiny-b', lambda name, tensor: tensor if EMBEDDING == name else noise(10, 0.0004)(name, tensor))
tiny = {name: load_file(f'{models[name]}/model.safetensors') for name in ('tiny-a', 'tiny-b')}
def sce_weight(first, second, tensors):
    """The share of the first expert's task vector, if both have the same sign."""
    merged = run({'merge_method': 'sce', 'base_model': 'base', 'models': [model(first), model(second)], 'out_dtype': 'float32'})
    da, db = (tensors[n][UP(3)].double() - inputs['base'][UP(3)].double() for n in (first, second))
    agree = (da * db > 0) & (da != db)
    share = ((merged[UP(3)].double() - inputs['base'][UP(3)].double() - db) / (da - db))[agree]
    return round(float(share.median()), 3)
write('wide', noise(11, 0.04))
facts['sce_weight_of_small_changes'] = sce_weight('tiny-a', 'tiny-b', tiny)
facts['sce_weight_of_large_changes'] = sce_weight('a', 'wide', {**inputs, 'wide': load_file(f"{models['wide']}/model.safetensors")})

still = lambda seed: lambda name, tensor: tensor if name == NORM else noise(seed)(name, tensor)
for name, seed in (('still-a', 12), ('still-b', 13), ('still-c', 14)):
    write(name, still(seed))
stills = [model(name, weight=1) for name in ('still-a', 'still-b', 'still-c')]
spherical = {'merge_method': 'multislerp', 'base_model': 'base'}
facts['multislerp_of_an_unchanged_tensor'] = {'of_two': isinstance(run({**spherical, 'models': stills[:2]}), dict),
                                              'of_three': run({**spherical, 'models': stills})}
half = run({'merge_method': 'nuslerp', 'base_model': 'base', 'models': [model('still-a', weight=1), model('b', weight=1)], 'out_dtype': 'float32'})
delta = inputs['b'][NORM].double() - inputs['base'][NORM].double()
facts['nuslerp_scale_of_the_only_change'] = round(float(((half[NORM].double() - inputs['base'][NORM].double()) * delta).sum() / (delta ** 2).sum()), 4)

facts['same_model_twice'] = run({'merge_method': 'linear', 'slices': [{'sources': [
    dict(model('a', weight=1), layer_range=[0, 2]), dict(model('a', weight=1), layer_range=[2, 4])]}]})
by_name = lambda key: [{'filter': f'layers.{key}.', 'value': 0.0}, {'value': 1.0}]
repeated = run({'merge_method': 'passthrough', 'slices': [
    {'sources': [dict(model('a', scale=by_name(5)), layer_range=[4, 6])]}, {'sources': [dict(model('a', scale=by_name(5)), layer_range=[0, 4])]}]})
facts['per_model_filters_see'] = {'source_layer_5_as_output_1': bool((repeated[UP(1)] == 0).all()),
                                  'source_layer_3_as_output_5': bool((repeated[UP(5)] == 0).all())}
shared = run({'merge_method': 'task_arithmetic', 'base_model': 'base', 'parameters': {'weight': 1, 'lambda': by_name(1)}, 'slices': [
    {'sources': [dict(model=n, layer_range=[4, 6]) for n in ('base', 'a')]}]})
facts['common_filters_see_the_output_layer'] = torch.equal(shared[UP(1)], inputs['base'][UP(5)])
filtered = run({'merge_method': 'passthrough', 'models': [model('a', scale=[{'filter': 'layers.1', 'value': 0.0}, {'value': 1.0}])]})
facts['filter_layers.1_also_meets'] = [layer for layer in range(LAYERS) if bool((filtered[UP(layer)] == 0).all())]

extra = {**inputs['a'], 'model.layers.0.self_attn.q_norm.weight': torch.ones(8, dtype=torch.bfloat16)}
save_file(extra, f"{models['a']}/extra.safetensors", {'format': 'pt'})
models['extra'] = os.path.join(root.name, 'extra')
os.makedirs(models['extra'])
os.rename(f"{models['a']}/extra.safetensors", f"{models['extra']}/model.safetensors")
open(f"{models['extra']}/config.json", 'w').write(open(f"{models['a']}/config.json").read())
facts['tensors_it_does_not_know_are_left_out'] = sorted(set(extra) - set(run({'merge_method': 'passthrough', 'models': [model('extra')]})))

crumbs = lambda density, gamma: run({'merge_method': 'breadcrumbs', 'base_model': 'base', 'models': [model('a', weight=1, density=density, gamma=gamma)]},
                                    out=f'crumbs-{density}-{gamma}')
facts['breadcrumbs_of_density_1_keeps_outliers'] = same(crumbs(1.0, 0.4), crumbs(1.0, 0.0))
one = run({'merge_method': 'ties', 'base_model': 'base', 'models': [model('a', weight=1, density=1e-6)]})
facts['ties_keeps_at_least_one_element'] = sorted({int((one[name] != inputs['base'][name]).sum()) for name in one})
cancelled = run({'merge_method': 'linear', 'models': [model('a', weight=1), model('b', weight=-1)]})
facts['weights_that_cancel_write'] = 'numbers' if isinstance(cancelled, str) else f"{int((~torch.isfinite(cancelled[NORM])).sum())} of {HIDDEN} not finite"
write('zeros', lambda name, tensor: torch.where(torch.arange(tensor.numel()).reshape(tensor.shape) % 2 == 0, -0.0, tensor.float()))
swapped = run({'merge_method': 'linear', 'models': [model('zeros', weight=1), model('a', weight=0)]})
facts['taking_one_model_by_weights_0_and_1_turns_minus_zeros'] = int((swapped[NORM].view(torch.int16) != load_file(f"{models['zeros']}/model.safetensors")[NORM].view(torch.int16)).sum())
facts['slerp_without_base_model'] = run({'merge_method': 'slerp', 'models': [model('a'), model('b')], 'parameters': {'t': 0.5}})
uneven = run({'merge_method': 'linear', 'slices': [
    {'sources': [dict(model('a', weight=1), layer_range=[0, 2])]},
    {'sources': [dict(model(name, weight=1), layer_range=[2, 4]) for name in ('a', 'b')]}]})
facts['final_norm_when_only_the_last_slice_has_two_sources'] = uneven if isinstance(uneven, str) else {
    'is_the_first_model_alone': torch.equal(uneven[NORM], inputs['a'][NORM])}
reverse = run({'merge_method': 'linear', 'slices': [
    {'sources': [dict(model(name, weight=1), layer_range=[0, 2]) for name in ('a', 'b')]},
    {'sources': [dict(model('a', weight=1), layer_range=[2, 4])]}]})
facts['final_norm_when_only_the_first_slice_has_two_sources'] = reverse if isinstance(reverse, str) else {
    'is_the_first_model_alone': torch.equal(reverse[NORM], inputs['a'][NORM])}
sets = [MergeConfiguration(merge_method='linear', models=[{'model': f'{name}{seed}'} for name in 'abcd']) for seed in range(20)]
facts['first_of_the_models_without_a_base'] = sum(each.referenced_models()[0] == each.models[0].model for each in sets)
facts['merge_key_of_several'] = yaml.safe_load('{<<: [{density: 1}, {density: 2}]}')['density']
head = {**inputs['a'], 'lm_head.weight': inputs['b'][EMBEDDING]}
models['untied'] = os.path.join(root.name, 'untied')
os.makedirs(models['untied'])
save_file(head, f"{models['untied']}/model.safetensors", {'format': 'pt'})
untied = {**json.load(open(f"{models['a']}/config.json")), 'tie_word_embeddings': False}
json.dump(untied, open(f"{models['untied']}/config.json", 'w'))
mixed = run({'merge_method': 'task_arithmetic', 'base_model': 'base', 'models': [model('untied', weight=1)]})
facts['head_of_an_untied_model_over_a_tied_base'] = mixed if isinstance(mixed, str) else {
    'written': 'lm_head.weight' in mixed, 'tied': json.load(open(os.path.join(root.name, 'out', 'config.json')))['tie_word_embeddings']}
facts['required'] = {}
for table in (table for tables in NAME_TO_ARCH.values() for table in tables):
    names = facts['required'].setdefault(table.expected_model_type.removeprefix('_').removesuffix('_partial'), [])
    for module in table.modules.values():
        of = module.architecture.definition
        weights = of.pre_weights + of.layer_templates.weights + of.post_weights
        names += [(module.weight_prefix or '') + weight.name for weight in weights if not weight.optional and not weight.tied_names]
print(json.dumps(facts, indent=1))
