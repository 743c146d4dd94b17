"""Adapters of PEFT's other kinds than LoRA, for adapter-kinds.test.ts.

  adapter_kinds.py make DIR      DIR/CASE/{base,adapter}, and its merge by merge_and_unload: DIR/CASE/merged
  adapter_kinds.py refused DIR   DIR/CASE/{base,adapter} of what is refused here
  adapter_kinds.py compare DIR   compares DIR/CASE/ours with it, element by element; one JSON object a line
"""
import json, os, sys, warnings

os.environ.setdefault('HF_HUB_OFFLINE', '1')
warnings.simplefilter('ignore')
import torch
from peft import (AdaLoraConfig, BOFTConfig, HRAConfig, IA3Config, LNTuningConfig, LoHaConfig, LoKrConfig, LoraConfig,
                  OFTConfig, PeftModel, TrainableTokensConfig, VeraConfig, get_peft_model)
from safetensors.torch import load_file
from transformers import (AutoModel, AutoModelForCausalLM, Gemma2Config, GPT2Config, LlamaConfig, MistralConfig,
                          Qwen2Config, ViTConfig)

small = dict(vocab_size=96, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
             max_position_embeddings=64, head_dim=16)
bases = {
    'llama': LlamaConfig(**small, tie_word_embeddings=False),
    'qwen2': Qwen2Config(**{k: v for k, v in small.items() if k != 'head_dim'}, num_key_value_heads=2, tie_word_embeddings=True),
    'gemma2': Gemma2Config(**small, num_key_value_heads=2),
    'mistral': MistralConfig(**small, num_key_value_heads=1, tie_word_embeddings=False),
    'vit': ViTConfig(hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, image_size=16, patch_size=4),
    'gpt2': GPT2Config(vocab_size=96, n_embd=64, n_layer=2, n_head=4, n_positions=64),
}
auto = lambda base: AutoModel if base == 'vit' else AutoModelForCausalLM
linear = ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj']
conv1d = ['c_attn', 'c_proj', 'c_fc']
steps = dict(total_step=10)
on = lambda base: dict(target_modules=conv1d if base == 'gpt2' else linear)
patterns = dict(rank_pattern={'q_proj': 2, 'layers.1.mlp.up_proj': 7}, alpha_pattern={'k_proj': 5, r'.*\.0\.mlp.*': 3})

# A convolution and linear layers.
convolution = dict(target_modules=['projection', 'query'])
convolutions = {
    'lora': LoraConfig(r=4, lora_alpha=6, **convolution),
    'loha': LoHaConfig(r=3, alpha=5, **convolution),
    'lokr': LoKrConfig(r=3, alpha=5, **convolution),
    'lokr-whole': LoKrConfig(r=64, alpha=5, **convolution),
    'hra': HRAConfig(r=4, **convolution),
    'loha-effective': LoHaConfig(r=3, alpha=5, use_effective_conv2d=True, **convolution),
    'lokr-effective': LoKrConfig(r=2, alpha=5, use_effective_conv2d=True, decompose_factor=2, **convolution),
    'oft': OFTConfig(oft_block_size=16, **convolution),
    'oft-shared': OFTConfig(oft_block_size=8, block_share=True, coft=True, eps=0.05, **convolution),
    'boft': BOFTConfig(boft_block_size=4, **convolution),
    'ia3': IA3Config(feedforward_modules=['query'], **convolution),
    'ia3-inputs': IA3Config(feedforward_modules=['projection'], **convolution),
}

# Configurations by name for a base, or None where PEFT has none.
kinds = {
    'adalora': lambda b: AdaLoraConfig(init_r=6, lora_alpha=16, **steps, **on(b)),
    'adalora-pruned': lambda b: AdaLoraConfig(init_r=6, lora_alpha=9, bias='all', **steps, **on(b)),
    'adalora-alpha': lambda b: AdaLoraConfig(init_r=4, lora_alpha=-1, **steps, **on(b)),
    'ia3': lambda b: IA3Config(task_type='CAUSAL_LM', **(
        dict(target_modules=['c_attn', 'mlp.c_proj'], feedforward_modules=['mlp.c_proj'], fan_in_fan_out=True) if b == 'gpt2'
        else dict(target_modules=['k_proj', 'v_proj', 'down_proj'], feedforward_modules=['down_proj']))),
    'loha': lambda b: b != 'gpt2' and LoHaConfig(r=3, alpha=7, **on(b)),
    'loha-patterns': lambda b: b != 'gpt2' and LoHaConfig(r=3, alpha=7, **patterns, **on(b)),
    'lokr': lambda b: b != 'gpt2' and LoKrConfig(r=3, alpha=7, **on(b)),
    'lokr-whole': lambda b: b != 'gpt2' and LoKrConfig(r=64, alpha=7, **on(b)),
    'lokr-both': lambda b: b != 'gpt2' and LoKrConfig(r=2, alpha=5, decompose_both=True, decompose_factor=16, **on(b)),
    'lokr-patterns': lambda b: b != 'gpt2' and LoKrConfig(r=3, alpha=7, decompose_factor=4, **patterns, **on(b)),
    'vera': lambda b: VeraConfig(r=5, **(dict(target_modules=['c_fc'], fan_in_fan_out=True) if b == 'gpt2' else on(b))),
    'vera-biases': lambda b: b != 'gpt2' and VeraConfig(r=40, bias='all', **on(b)),
    'ln': lambda b: LNTuningConfig(target_modules=['ln_1', 'ln_2', 'ln_f'] if b == 'gpt2'
                                   else ['input_layernorm', 'post_attention_layernorm', 'norm']),
    'tokens': lambda b: TrainableTokensConfig(token_indices=[5, 95, 6, 0], **(dict(target_modules=['wte']) if b == 'gpt2' else {})),
    'lora-tokens': lambda b: LoraConfig(r=4, trainable_token_indices=[7, 3, 90], **on(b)),
    'lora-tokens-both': lambda b: b in ('llama', 'mistral') and LoraConfig(
        r=4, trainable_token_indices={'embed_tokens': [7, 3, 90], 'lm_head': [1, 2]}, **on(b)),
    'hra': lambda b: b != 'gpt2' and HRAConfig(r=4, **on(b)),
    'hra-orthogonal': lambda b: b != 'gpt2' and HRAConfig(r=5, apply_GS=True, bias='hra_only', **on(b)),
    'oft': lambda b: b != 'gpt2' and OFTConfig(oft_block_size=16, **on(b)),
    'oft-exact': lambda b: b != 'gpt2' and OFTConfig(r=4, oft_block_size=0, use_cayley_neumann=False, **on(b)),
    'oft-terms': lambda b: b != 'gpt2' and OFTConfig(oft_block_size=32, num_cayley_neumann_terms=3, **on(b)),
    'oft-shared': lambda b: b != 'gpt2' and OFTConfig(oft_block_size=8, block_share=True, coft=True, eps=0.05, **on(b)),
    'oft-embeddings': lambda b: b in ('llama', 'mistral') and OFTConfig(
        oft_block_size=16, target_modules=['embed_tokens', 'q_proj']),
    'boft': lambda b: b != 'gpt2' and BOFTConfig(boft_block_size=8, bias='boft_only', **on(b)),
    'boft-blocks': lambda b: b != 'gpt2' and BOFTConfig(boft_block_num=4, boft_block_size=0, **on(b)),
}
# Settings that are refused here.
refusals = {
    'dora-convolution': ('vit', LoraConfig(r=3, use_dora=True, target_modules=['projection'])),
    'vera-unsaved': ('llama', VeraConfig(r=5, save_projection=False, **on('llama'))),
    'lookahead': ('llama', LoraConfig(r=4, rank_pattern={'(?!.*k_proj).*': 2}, **on('llama'))),
    'alora': ('llama', LoraConfig(r=4, task_type='CAUSAL_LM', alora_invocation_tokens=[1, 2], **on('llama'))),
}
dtypes = {'ia3': [torch.float32, torch.bfloat16], 'oft': [torch.float32, torch.bfloat16], 'loha': [torch.float32, torch.bfloat16]}


def cases():
    for kind, config in convolutions.items():
        yield f'vit-{kind}', 'vit', kind, config, torch.float32
    for base in bases:
        if base == 'vit':
            continue
        for kind, of in kinds.items():
            config = of(base)
            if config:
                for dtype in dtypes.get(kind, [torch.float32]):
                    yield f'{base}-{kind}' + ('' if dtype == torch.float32 else '-bfloat16'), base, kind, config, dtype


def train(model, kind):
    """Random numbers instead of training."""
    scale = 0.05 if "oft" in kind else 0.3
    with torch.no_grad():
        for name, tensor in model.named_parameters():
            if tensor.requires_grad or 'vera_lambda' in name:
                tensor.add_(torch.randn(tensor.shape, dtype=torch.float32).to(tensor.dtype) * scale)


def make(directory):
    for case, base, kind, config, dtype in cases():
        torch.manual_seed(len(case))
        at = os.path.join(directory, case)
        model = auto(base).from_config(bases[base]).to(dtype)
        with torch.no_grad():
            for name, tensor in model.named_parameters():
                if name.endswith('.bias') or 'norm' in name:
                    tensor.add_(torch.randn(tensor.shape) * 0.1)
        model.save_pretrained(f'{at}/base')
        peft = get_peft_model(auto(base).from_pretrained(f'{at}/base', dtype=dtype), config)
        train(peft, kind)
        if kind == 'adalora-pruned':
            names = [name for name, _ in peft.base_model.model.named_parameters() if 'lora_E' in name]
            config.rank_pattern = {name: [(i + k) % 3 > 0 for k in range(6)] if i else [False] * 6
                                   for i, name in enumerate(names)}
        peft.save_pretrained(f'{at}/adapter')
        again = PeftModel.from_pretrained(auto(base).from_pretrained(f'{at}/base', dtype=dtype), f'{at}/adapter')
        again.merge_and_unload().save_pretrained(f'{at}/merged')


def refused(directory):
    for case, (base, config) in refusals.items():
        at = os.path.join(directory, case)
        auto(base).from_config(bases[base]).save_pretrained(f'{at}/base')
        try:
            peft = get_peft_model(auto(base).from_pretrained(f'{at}/base'), config)
        except Exception as error:
            print(json.dumps({'case': case, 'error': str(error)}))
            continue
        train(peft, case)
        peft.save_pretrained(f'{at}/adapter')


def compare(directory):
    for case, of, kind, _, dtype in cases():
        at = os.path.join(directory, case)
        base, theirs, ours = load_file(f'{at}/base/model.safetensors'), load_file(f'{at}/merged/model.safetensors'), {}
        for file in sorted(os.listdir(f'{at}/ours')) if os.path.exists(f'{at}/ours') else []:
            if file.endswith('.safetensors'):
                ours.update(load_file(f'{at}/ours/{file}'))
        largest, equal, elements, changed, worst = 0.0, 0, 0, 0, ''
        for key in set(ours) & set(theirs):
            one, other = ours[key].double(), theirs[key].double()
            equal += (one == other).sum().item()
            elements += one.numel()
            changed += key not in base or not torch.equal(base[key], theirs[key])
            scale = other.abs().max().item()
            error = ((one - other).abs().max() / scale).item() if scale > 0 else (one - other).abs().max().item()
            if error > largest:
                largest, worst = error, key
        print(json.dumps({'case': case, 'kind': kind, 'base': of, 'float32': dtype == torch.float32, 'names': sorted(set(ours) ^ set(theirs)),
                          'changed': changed, 'equal': equal / max(1, elements), 'largest': largest, 'worst': worst}), flush=True)


if __name__ == '__main__':
    {'make': make, 'refused': refused, 'compare': compare}[sys.argv[1]](sys.argv[2])
