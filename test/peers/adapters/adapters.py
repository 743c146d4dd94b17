"""Adapters by PEFT, for adapters.test.ts.

  adapters.py make DIR      DIR/CASE/{base,a,b}, and their merges by merge_and_unload: DIR/CASE/{a,b}-merged
  adapters.py compare DIR   compares DIR/CASE/{a,b}-ours with these, element by element, and its logits with those of
                            the base with the adapter loaded by PEFT; one JSON object a line
"""
import json, os, sys

os.environ.setdefault('HF_HUB_OFFLINE', '1')
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file
from transformers import (AutoModelForCausalLM, GemmaConfig, GPT2Config, LlamaConfig, MistralConfig, PhiConfig, Qwen2Config)

small = dict(vocab_size=96, hidden_size=64, intermediate_size=96, num_hidden_layers=8, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=64)
llama = LlamaConfig(**small, tie_word_embeddings=False)
attention, mlp = ['q_proj', 'k_proj', 'v_proj', 'o_proj'], ['gate_proj', 'up_proj', 'down_proj']

cases = {
    'llama-exact': (llama, torch.bfloat16, [
        dict(r=4, lora_alpha=8, target_modules=attention + mlp),
        dict(r=16, lora_alpha=8, target_modules=attention)]),
    'llama-patterns': (llama, torch.bfloat16, [
        dict(r=8, lora_alpha=16, target_modules=attention + mlp,
             rank_pattern={'layers.0.self_attn.q_proj': 2, '^model.layers.1.mlp.up_proj': 3, r'.*\.[2-3]\.mlp.*': 5},
             alpha_pattern={'k_proj': 3, 'down_proj': 7}),
        dict(r=32, lora_alpha=8, target_modules='all-linear', use_rslora=True)]),
    'llama-vocabulary': (llama, torch.float32, [
        dict(r=4, lora_alpha=8, target_modules=['embed_tokens', 'lm_head', 'q_proj']),
        dict(r=6, lora_alpha=9, target_modules=['v_proj'], modules_to_save=['embed_tokens', 'lm_head', 'norm'])]),
    'qwen2-biases': (Qwen2Config(**small, tie_word_embeddings=False), torch.float32, [
        dict(r=8, lora_alpha=16, target_modules=['q_proj', 'v_proj'], lora_bias=True, use_rslora=True),
        dict(r=3, lora_alpha=16, target_modules=['q_proj', 'v_proj', 'down_proj'], bias='lora_only')]),
    'gemma-tied': (GemmaConfig(**small, head_dim=16), torch.bfloat16, [
        dict(r=8, lora_alpha=16, target_modules=attention, use_rslora=True),
        dict(r=5, lora_alpha=16, target_modules=mlp, alpha_pattern={'down_proj': 4})]),
    'gpt2-conv1d': (GPT2Config(vocab_size=96, n_embd=64, n_layer=8, n_head=4, n_positions=64), torch.float32, [
        dict(r=4, lora_alpha=8, target_modules=['c_attn', 'c_proj'], fan_in_fan_out=True),
        dict(r=9, lora_alpha=8, target_modules=['c_fc', 'attn.c_proj'], fan_in_fan_out=True, bias='all')]),
    'phi-biases': (PhiConfig(**small, tie_word_embeddings=False), torch.float32, [
        dict(r=4, lora_alpha=8, target_modules=['q_proj', 'dense', 'fc1'], bias='all'),
        dict(r=8, lora_alpha=8, target_modules=['fc2'], modules_to_save=['lm_head'])]),
    'llama-dora': (llama, torch.float32, [
        dict(r=4, lora_alpha=8, target_modules=attention + mlp, use_dora=True),
        dict(r=6, lora_alpha=9, target_modules=['embed_tokens', 'lm_head', 'q_proj'], use_dora=True, use_rslora=True,
             rank_pattern={'lm_head': 3}, alpha_pattern={'q_proj': 5})]),
    'gpt2-dora': (GPT2Config(vocab_size=96, n_embd=64, n_layer=8, n_head=4, n_positions=64), torch.float32, [
        dict(r=4, lora_alpha=8, target_modules=['c_attn', 'c_proj'], fan_in_fan_out=True, use_dora=True),
        dict(r=9, lora_alpha=8, target_modules=['c_fc'], fan_in_fan_out=True, use_dora=True, bias='all')]),
    'mistral-parameters': (MistralConfig(**small, tie_word_embeddings=False), torch.float32, [
        dict(r=4, lora_alpha=8, target_modules=[], target_parameters=['mlp.up_proj.weight']),
        dict(r=8, lora_alpha=4, target_modules='all-linear')]),
}


def train(model, exact):
    """Random numbers instead of training. `exact`: products with so few bits that the order of sums does not
    matter."""
    with torch.no_grad():
        for name, tensor in model.named_parameters():
            if 'lora_magnitude_vector' in name:
                tensor.mul_(1 + torch.randn(tensor.shape) * 0.1)
            elif 'lora_' in name and exact:
                tensor.copy_(torch.randint(-3, 4, tensor.shape) / 16)
            elif 'lora_' in name:
                tensor.copy_(torch.randn(tensor.shape) * 0.1)
            elif tensor.requires_grad:
                tensor.add_(torch.randn(tensor.shape) * 0.1)


def make(directory):
    for case, (config, dtype, adapters) in cases.items():
        torch.manual_seed(len(case))
        at = os.path.join(directory, case)
        model = AutoModelForCausalLM.from_config(config).to(dtype)
        with torch.no_grad():
            for name, tensor in model.named_parameters():
                if name.endswith('.bias'):
                    tensor.copy_(torch.randn(tensor.shape) * 0.1)
        model.save_pretrained(f'{at}/base')
        for name, keys in zip('ab', adapters):
            base = AutoModelForCausalLM.from_pretrained(f'{at}/base', dtype=dtype)
            peft = get_peft_model(base, LoraConfig(task_type='CAUSAL_LM', **keys))
            train(peft, case.endswith('exact'))
            peft.save_pretrained(f'{at}/{name}')
            peft.merge_and_unload().save_pretrained(f'{at}/{name}-merged')


def compare(directory):
    for case, (_, dtype, _) in cases.items():
        for name in 'ab':
            at = os.path.join(directory, case, name)
            theirs, ours = load_file(f'{at}-merged/model.safetensors'), {}
            for file in sorted(os.listdir(f'{at}-ours')):
                if file.endswith('.safetensors'):
                    ours.update(load_file(f'{at}-ours/{file}'))
            equal = elements = 0
            largest = 0.0
            for key, tensor in theirs.items():
                one, other = ours[key].double(), tensor.double()
                equal += (one == other).sum().item()
                elements += one.numel()
                scale = other.abs().max().item()
                largest = max(largest, ((one - other).abs().max() / scale).item() if scale > 0 else 0.0)
            tokens = torch.arange(24)[None]
            wide = dict(dtype=torch.float32)
            with torch.no_grad():
                base = AutoModelForCausalLM.from_pretrained(os.path.join(directory, case, 'base'), **wide)
                expected = PeftModel.from_pretrained(base, at).eval()(tokens).logits
                found = AutoModelForCausalLM.from_pretrained(f'{at}-ours', **wide).eval()(tokens).logits
            print(json.dumps({
                'case': case, 'adapter': name, 'float32': dtype == torch.float32,
                'names': sorted(set(ours) ^ set(theirs)), 'equal': equal / elements, 'largest': largest,
                'logits': ((found - expected).abs().max() / expected.abs().max()).item(),
            }), flush=True)


if __name__ == '__main__':
    {'make': make, 'compare': compare}[sys.argv[1]](sys.argv[2])
