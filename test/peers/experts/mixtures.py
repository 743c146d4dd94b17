"""Mixtures of experts by transformers, and adapters of them by PEFT, for experts.test.ts.

  mixtures.py make DIR [LAYOUT]            makes DIR/CASE/base (separate experts if transformers writes them so);
                                           DIR/CASE/fused (as transformers holds it);
                                           adapters DIR/CASE/ADAPTER; and DIR/CASE/ADAPTER-merged by PEFT.
                                           With LAYOUT only adapters ADAPTER-LAYOUT of the experts' parameters,
                                           of square matrices too: for other versions of PEFT.
  mixtures.py compare FIRST SECOND …       compares pairs of models, one JSON object a line: missing names,
                                           the largest difference of weights, relative to the tensor's largest;
                                           and that of logits.
  mixtures.py variant FROM TO FUSED SEED   makes an expert of a model with small changes:
                                           as transformers writes it, and fused as it holds it.
  mixtures.py apply BASE ADAPTER TO        merges a base with an adapter by PEFT.
  mixtures.py mean FIRST SECOND TO         makes the mean of two models.
  mixtures.py split FROM TO                writes gpt-oss as Unsloth holds it in four bits, and prints what
                                           transformers misses in that.
"""
import json, os, sys, warnings

os.environ.setdefault('HF_HUB_OFFLINE', '1')
warnings.filterwarnings('ignore')
import torch
import transformers
from transformers import (AutoModelForCausalLM, DeepseekV2Config, DeepseekV3Config, GptOssConfig, GraniteMoeConfig,
                          JetMoeConfig, Llama4TextConfig, MixtralConfig, OlmoeConfig, PhimoeConfig, Qwen2MoeConfig,
                          Qwen3MoeConfig)
from transformers.models.qwen3_5_moe import Qwen3_5MoeTextConfig

transformers.logging.set_verbosity_error()
small = dict(vocab_size=96, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
             max_position_embeddings=64, tie_word_embeddings=False)
chosen = dict(num_experts_per_tok=2)
deepseek = dict({**small, 'num_key_value_heads': 4}, intermediate_size=48, moe_intermediate_size=24, n_routed_experts=4,
                n_shared_experts=1, kv_lora_rank=8, q_lora_rank=8, qk_nope_head_dim=8, qk_rope_head_dim=8, v_head_dim=8,
                first_k_dense_replace=1, n_group=1, topk_group=1, **chosen)
full = dict(layer_types=['full_attention'] * 2)


def mixtures(width=24):
    """Configurations whose experts have an inner layer of `width` columns."""
    qwen = dict(moe_intermediate_size=width, num_experts=4, **chosen)
    local = dict(intermediate_size=width, num_local_experts=4, **chosen)
    return {
        'mixtral': MixtralConfig(**small, **local),
        'qwen2-moe': Qwen2MoeConfig(**small, **qwen, intermediate_size=48, shared_expert_intermediate_size=40),
        'qwen3-moe': Qwen3MoeConfig(**small, **qwen, head_dim=8, intermediate_size=48),
        'qwen3.5-moe': Qwen3_5MoeTextConfig(**small, **qwen, **full, head_dim=8, shared_expert_intermediate_size=40),
        'olmoe': OlmoeConfig(**small, intermediate_size=width, num_experts=4, **chosen),
        'gpt-oss': GptOssConfig(**small, **local, **full, head_dim=8),
        'deepseek-v2': DeepseekV2Config(**{**deepseek, 'moe_intermediate_size': width}),
        'deepseek-v3': DeepseekV3Config(**{**deepseek, 'moe_intermediate_size': width}),
        'granite-moe': GraniteMoeConfig(**small, **local),
        'phi-moe': PhimoeConfig(**small, **local),
        'llama4': Llama4TextConfig(**small, **{**local, 'num_experts_per_tok': 1}, intermediate_size_mlp=48, head_dim=8,
                                   moe_layers=[1]),
        'jetmoe': JetMoeConfig(**{k: v for k, v in small.items() if k != 'num_attention_heads'}, **local, kv_channels=8),
    }


all_linear = dict(r=4, lora_alpha=8, target_modules='all-linear')
parameters = dict(r=3, lora_alpha=5, target_modules=['q_proj'], use_rslora=True,
                  target_parameters=['experts.gate_up_proj', 'experts.down_proj'], alpha_pattern={'experts.down_proj': 7})
one = dict(r=2, lora_alpha=3, target_modules=['k_proj'], target_parameters=['experts.down_proj'])


def train(model):
    with torch.no_grad():
        for name, tensor in model.named_parameters():
            if 'lora_' in name:
                tensor.copy_(torch.randn(tensor.shape) * 0.1)


def load(directory):
    return AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32).eval()


def adapt(at, name, keys):
    from peft import LoraConfig, get_peft_model
    peft = get_peft_model(load(f'{at}/base'), LoraConfig(task_type='CAUSAL_LM', **keys))
    train(peft)
    peft.save_pretrained(f'{at}/{name}')
    peft.merge_and_unload().save_pretrained(f'{at}/{name}-merged')


def make(directory, layout=None):
    widths = [24] if layout is None else [24, 32, 16]
    for width in widths:
        for case, config in mixtures(width).items():
            if layout is not None and case == 'jetmoe':  # all of its experts are in modules of other names
                continue
            torch.manual_seed(len(case) + width)
            at = os.path.join(directory, case if width == 24 else f'{case}-{width}')
            if not os.path.exists(f'{at}/base'):
                model = AutoModelForCausalLM.from_config(config).to(torch.float32)
                model.save_pretrained(f'{at}/base')
                model.save_pretrained(f'{at}/fused', save_original_format=False)
            if layout is None:
                adapt(at, 'all-linear', all_linear)
                if case != 'jetmoe':
                    adapt(at, 'parameters-2', {**parameters, 'r': 5})
            if case != 'jetmoe':
                adapt(at, f'parameters{layout and f"-{layout}" or ""}', parameters)
                adapt(at, f'one{layout and f"-{layout}" or ""}', one)


def compare(*models):
    tokens = torch.arange(24)[None]
    for first, second in zip(models[::2], models[1::2]):
        ours, theirs = load(first), load(second)
        found, expected = ours.state_dict(), theirs.state_dict()
        largest = max(((found[name] - tensor).abs().max() / tensor.abs().max().clamp(min=1e-300)).item()
                      for name, tensor in expected.items() if name in found and tensor.is_floating_point())
        with torch.no_grad():
            one, other = ours(tokens).logits, theirs(tokens).logits
        print(json.dumps({'ours': first, 'names': sorted(set(found) ^ set(expected)), 'largest': largest,
                          'logits': ((one - other).abs().max() / other.abs().max()).item()}), flush=True)


def variant(source, target, fused, seed):
    torch.manual_seed(int(seed))
    model = load(source)
    with torch.no_grad():
        for tensor in model.parameters():
            tensor.add_(torch.randn(tensor.shape) * 0.01)
    model.save_pretrained(target)
    model.save_pretrained(fused, save_original_format=False)


def apply(base, adapter, target):
    from peft import PeftModel
    PeftModel.from_pretrained(load(base), adapter).merge_and_unload().save_pretrained(target)
    print(target)


def mean(first, second, target):
    one, other = load(first), load(second)
    with torch.no_grad():
        for tensor, more in zip(one.parameters(), other.parameters()):
            tensor.copy_((tensor + more) / 2)
    one.save_pretrained(target)
    print(target)


def split(source, target):
    model = load(source)
    tensors = {}
    for name, tensor in model.state_dict().items():
        stem, _, which = name.rpartition('.')
        matrix = which.removesuffix('_bias')
        if not stem.endswith('.experts'):
            tensors[name.replace('.router.', '.router.linear.')] = tensor
            continue
        for expert, own in enumerate(tensor):
            end = 'bias' if which.endswith('_bias') else 'weight'
            tensors[f'{stem}.{matrix}s.{expert}.{end}'] = own if end == 'bias' else own.T.contiguous()
    model.save_pretrained(target, state_dict=tensors)
    _, info = AutoModelForCausalLM.from_pretrained(target, output_loading_info=True)
    print(json.dumps(sorted(info['missing_keys'])))


if __name__ == '__main__':
    {'make': make, 'compare': compare, 'variant': variant, 'mean': mean, 'apply': apply, 'split': split}[sys.argv[1]](*sys.argv[2:])
