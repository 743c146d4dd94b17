"""transformers as the oracle of layerloom's outputs: no tensor is missing, extra, or of another shape.

  loads.py make DIR [NAME...]   makes DIR/NAME/a and /b of every family (every.py);
                                prints its stacks of layers as JSON, a line each.
  loads.py check JOBS           prints a line of JSON for each line of the file JOBS:

      {"out": DIR, "like": DIR}                      an output that must load as the model `like` does;
      {"out", "stack", "order": [[DIR, LAYER], …]}   its layers are these, in this order, to the bit;
                                                     its logits are those of these layer objects;
      {"out", "adapter": true, "like"}               an adapter, loaded by PEFT upon the model `like`.
"""
import json, os, re, sys, traceback
import torch
from torch import nn
import transformers
from safetensors import safe_open
from models import families, model_of
from every import every_model, inputs_of, output_of, types

torch.set_num_threads(1)
dtypes = {'F8_E4M3': torch.float8_e4m3fn, 'I8': torch.int8, 'I64': torch.int64, 'BOOL': torch.bool, 'F32': torch.float32, 'BF16': torch.bfloat16, 'F16': torch.float16, 'F64': torch.float64}
# Layers of these families pass more than hidden states to each other, unlike a chain of layer objects.
handing_on = {'hy_v4', 'hy_v4_vl', 'glm5_next', 'pegasus_x', 'zaya'}
# Attributes that depend on a layer's position, that it keeps while it runs, or that it stores unread.
of_place = re.compile(r'^(\w*init_variance_scale|recurrent_states|has_relative_attention_bias|store_full_length_kv|sliding_window_pattern|expert_capacity|layer_idx|layer_id|layer_index|layer_number|layer_num|block_idx|training|_.*|call_super_init|dump_patches|seed)$')


def make_one(name, seed):
    return every_model(name, seed) if name not in families else model_of(name, seed)


def stacks_of(model):
    lists = {path: of for path, of in model.named_modules() if isinstance(of, nn.ModuleList)}
    return {path: len(of) for path, of in lists.items() if len(of) > 1 and not re.search(r'\.\d+\.|vision|visual|audio|speech|qformer|projector|perceiver|connector|talker|codec|depth|dit\.', path)
            and re.search(r'(^|\.)(layers?|h|\w*blocks?)$', path)}


def make(root, *names):
    covered = {model_type for model_type, _, _ in families.values()}
    for name in names or [*families, *(one for one in types() if one not in covered)]:
        if name in families and families[name][1] == 'Diffusion':
            continue
        try:
            for seed, expert in enumerate(['a', 'b']):
                model = make_one(name, seed)
                model.save_pretrained(f'{root}/{name}/{expert}')
            load(f'{root}/{name}/a')  # Some families do not load what they have saved.
            has_rows = type(model).__name__.endswith('ForCausalLM') and model.get_input_embeddings().weight.shape[0] == 96
            if has_rows:
                save_tokenizer(f'{root}/{name}/a', 93)
                model.save_pretrained(f'{root}/{name}/donor')
                save_tokenizer(f'{root}/{name}/donor', 70)
            print(json.dumps({'name': name, 'class': type(model).__name__, 'stacks': stacks_of(model), 'hasTokenizer': has_rows}), flush=True)
        except Exception as error:
            print(json.dumps({'name': name, 'error': f'{type(error).__name__}: {str(error)[:200]}'}), flush=True)


def save_tokenizer(directory, letters):
    from tokenizers import Tokenizer, models, pre_tokenizers
    words = ['<unk>', '<s>', '</s>', *(chr(0x4e00 + number) for number in range(letters))]
    made = Tokenizer(models.BPE({word: number for number, word in enumerate(words)}, [], unk_token='<unk>'))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.add_special_tokens(words[:3])
    transformers.PreTrainedTokenizerFast(tokenizer_object=made, unk_token='<unk>', bos_token='<s>', eos_token='</s>').save_pretrained(directory)


def headers(directory):
    found = {}
    for file in sorted(os.listdir(directory)):
        if file.endswith('.safetensors'):
            with safe_open(os.path.join(directory, file), 'pt') as opened:
                for name in opened.keys():
                    piece = opened.get_slice(name)
                    found[name] = (piece.get_dtype(), piece.get_shape())
    return found


def load(directory, quantised=False):
    config = transformers.AutoConfig.from_pretrained(directory)
    cls = getattr(transformers, config.architectures[0])
    # FP8 runs on accelerators: here modules are on the meta device, with shapes and dtypes from the headers.
    given = dict(config=config, state_dict=meta(directory), device_map='meta') if quantised else {}
    model, info = cls.from_pretrained(None if quantised else directory, output_loading_info=True, dtype='auto', **given)
    wrong = {key: sorted(map(str, info[key]))[:5] for key in ('missing_keys', 'unexpected_keys', 'mismatched_keys', 'error_msgs') if info.get(key)}
    assert not wrong, wrong
    return model.eval()


def meta(directory):
    return {name: torch.empty(shape, dtype=dtypes[dtype], device='meta') for name, (dtype, shape) in headers(directory).items()}


def says_what_it_is(directory, model):
    """Checks that config.json states the weights' dtype, rows and head."""
    with open(os.path.join(directory, 'config.json')) as file:
        config = json.load(file)
    stored = headers(directory)
    floating = {dtype for dtype, _ in stored.values() if dtype.startswith(('F', 'BF'))}
    said = config.get('dtype', config.get('torch_dtype'))
    if len(floating) == 1 and said is not None and 'quantization_config' not in config:
        assert said == str(dtypes[next(iter(floating))]).replace('torch.', ''), (said, floating)
    embeddings, head = model.get_input_embeddings(), model.get_output_embeddings()
    if head is not None and embeddings is not None and getattr(head, 'weight', None) is not None:
        text = model.config.get_text_config()
        tied = head.weight is embeddings.weight
        assert not tied or text.tie_word_embeddings or model.config.tie_word_embeddings, 'tied, though config.json says it is not'


class Slot(nn.Module):
    """Replaces a layer: runs layers, or passes on its input."""

    def __init__(self, original, sequence, shared):
        super().__init__()
        self.__dict__.update(original=original, sequence=sequence, shared=shared)

    def __getattr__(self, name):
        return getattr(self.__dict__['original'], name)

    def forward(self, *args, **kwargs):
        hidden = args[0] if args else kwargs['hidden_states']
        for layer, more, named in self.sequence:
            found = layer(hidden, *more, **named)
            hidden, self.shared['tail'] = (found[0], found[1:]) if isinstance(found, tuple) else (found, None)
        tail = self.shared['tail']
        return hidden if tail is None else (hidden, *tail)


def chained(sources, stack, order):
    """The output of layer objects in an order, each with its own model's inputs besides the hidden states."""
    first = next(iter(sources.values()))
    given = inputs_of(first)
    captured = {}
    for directory, model in sources.items():
        layers = model.get_submodule(stack)
        hooks = []
        for number, layer in enumerate(layers):
            def keep(_module, args, kwargs, key=(directory, number)):
                named = {name: value for name, value in kwargs.items() if name != 'hidden_states'}
                captured.setdefault(key, (args[1:], named))
            hooks.append(layer.register_forward_pre_hook(keep, with_kwargs=True))
        output_of(model, **given)
        for hook in hooks:
            hook.remove()
    # Arguments except the hidden states come from the first model. Skips a layer that the model does not run, such as
    # cross-attention without pictures.
    home = next(iter(sources))
    sequence = [(sources[directory].get_submodule(stack)[number], *captured[home, number])
                for directory, number in order if (home, number) in captured]
    layers = first.get_submodule(stack)
    originals, shared = list(layers), {'tail': None}
    runs = [number for number in range(len(layers)) if (home, number) in captured]
    # Some models do something after their first layer: runs the first layer of the order there, and all other layers in
    # the last place.
    places = {runs[0]: sequence[:1], runs[-1]: sequence[1:]}
    for number in range(len(layers)):
        layers[number] = Slot(originals[number], places.get(number, []), shared)
    try:
        return output_of(first, **given)
    finally:
        for number, original in enumerate(originals):
            layers[number] = original


def described(layer):
    found = {}
    for path, module in layer.named_modules():
        if path.endswith('relative_attention_bias'):
            continue  # T5 has it in the first layer for all.
        settings = {key: repr(value) for key, value in vars(module).items()
                    if not of_place.match(key) and isinstance(value, (int, float, bool, str, type(None), tuple))}
        found[path] = (type(module).__name__, settings, {key: tuple(one.shape) for key, one in module._parameters.items() if one is not None})
    return found


def difference_of(one, other):
    path = next(path for path in {**one, **other} if one.get(path) != other.get(path))
    if path not in one or path not in other:
        return f'{path} is in one alone'
    (kind, settings, shapes), (its_kind, its_settings, its_shapes) = one[path], other[path]
    both = {**settings, **shapes, 'class': kind}, {**its_settings, **its_shapes, 'class': its_kind}
    return f'{path} ' + ', '.join(f'{key} {both[0].get(key)} against {both[1].get(key)}' for key in {**both[0], **both[1]} if both[0].get(key) != both[1].get(key))


def is_stack(out, model, stack, order, sources):
    layers = model.get_submodule(stack)
    assert len(layers) == len(order), f'{len(layers)} layers, not {len(order)}'
    for number, (directory, layer) in enumerate(order):
        wanted, found = sources[directory].get_submodule(stack)[layer], layers[number]
        one, other = described(wanted), described(found)
        if one != other:
            raise AssertionError(f'layer {number} is not {layer}: {difference_of(one, other)}')
        parameters = dict(found.named_parameters())
        for name, one in wanted.named_parameters():
            if 'relative_attention_bias' not in name:
                assert torch.equal(one, parameters[name]), f'layer {number}: {name} is not that of layer {layer}'
    if model.config.model_type in handing_on:
        return 'not run: layers hand each other more than hidden states'
    try:
        expected = chained(sources, stack, order)
    except Exception as error:
        return f'not run: {type(error).__name__}: {str(error)[:100]}'
    given = inputs_of(model)
    got = output_of(model, **given)
    difference = (got.float() - expected.float()).abs().max().item()
    assert difference <= 1e-5 * max(1, expected.float().abs().max().item()), f'logits differ by {difference}'
    return f'logits equal to {difference:.1e}'


def check_one(job, loaded):
    out = job['out']
    def source(directory):
        if directory not in loaded:
            loaded[directory] = load(directory)
        return loaded[directory]
    if job.get('adapter'):
        import peft
        base = loaded.pop(job['like'], None) or load(job['like'])
        wrapped = peft.PeftModel.from_pretrained(base, out)
        result = wrapped.load_adapter(out, 'again')
        wrong = [key for key in [*result.missing_keys, *result.unexpected_keys] if 'lora_' in key]
        assert not wrong, wrong[:5]
        return 'loaded by PEFT'
    model = load(out, job.get('quantised', False))
    says_what_it_is(out, model)
    if 'order' in job:
        sources = {directory: source(directory) for directory in dict.fromkeys(directory for directory, _ in [[job['first'], 0], *job['order']])}
        return is_stack(out, model, job['stack'], job['order'], sources)
    return 'loads'


def check(jobs):
    loaded, root = {}, None
    for line in open(jobs):
        job = json.loads(line)
        if job.get('family') != root:
            loaded, root = {}, job.get('family')
        try:
            print(json.dumps({'out': job['out'], 'ok': check_one(job, loaded)}), flush=True)
        except Exception as error:
            print(json.dumps({'out': job['out'], 'failed': f'{type(error).__name__}: {str(error)[:600]}'}), flush=True)
            if os.environ.get('LAYERLOOM_TRACE'):
                traceback.print_exc()


if __name__ == '__main__':
    dict(make=make, check=check)[sys.argv[1]](*sys.argv[2:])
