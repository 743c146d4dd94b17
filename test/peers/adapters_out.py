#!/usr/bin/env python3
"""adapters_out.py make OUT: a random base of each case, and two adapters of it, saved by PEFT.
adapters_out.py compare: reads lines of BASE ADAPTER FULL on stdin; prints the largest difference of their
logits and PEFT's warnings."""
import json
import sys
import warnings

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModelForCausalLM, GemmaConfig, GPT2Config, LlamaConfig, Qwen2Config

torch.set_num_threads(1)
common = dict(vocab_size=96, hidden_size=32, num_hidden_layers=8, num_attention_heads=4)
llama = dict(common, intermediate_size=48, num_key_value_heads=2, max_position_embeddings=64)
gpt2 = GPT2Config(vocab_size=96, n_embd=32, n_layer=8, n_head=4, n_positions=64, n_inner=48)
attention, mlp = ['q_proj', 'v_proj', 'o_proj'], ['gate_proj', 'up_proj', 'down_proj']

cases = {
    'llama-ranks': (LlamaConfig(**llama), dict(r=4, lora_alpha=8, target_modules=attention), dict(r=16, lora_alpha=8, target_modules=attention + mlp)),
    'llama-patterns': (LlamaConfig(**llama),
        dict(r=4, lora_alpha=8, target_modules=attention + mlp, rank_pattern={'q_proj': 2, r'layers\.3\.mlp\.up_proj': 6}, alpha_pattern={'down_proj': 3}),
        dict(r=3, lora_alpha=5, target_modules=attention, rank_pattern={'v_proj': 5}, alpha_pattern={'^model.layers.1.self_attn.q_proj': 7})),
    'llama-saved': (LlamaConfig(**llama, tie_word_embeddings=False),
        dict(r=4, lora_alpha=8, target_modules=attention, modules_to_save=['lm_head', 'input_layernorm']),
        dict(r=8, lora_alpha=8, target_modules=mlp, modules_to_save=['embed_tokens', 'norm'])),
    'llama-embeddings': (LlamaConfig(**llama, tie_word_embeddings=False),
        dict(r=4, lora_alpha=8, target_modules=['embed_tokens', 'q_proj', 'lm_head']),
        dict(r=2, lora_alpha=8, target_modules=['embed_tokens', 'q_proj', 'lm_head'])),
    'qwen2-biases': (Qwen2Config(**llama),
        dict(r=4, lora_alpha=8, target_modules=attention, bias='lora_only'),
        dict(r=8, lora_alpha=4, target_modules=['q_proj', 'k_proj'], bias='all')),
    'qwen2-lora-bias': (Qwen2Config(**llama),
        dict(r=4, lora_alpha=8, target_modules=['q_proj'], lora_bias=True), dict(r=4, lora_alpha=16, target_modules=['q_proj'], lora_bias=True)),
    'gemma-rslora': (GemmaConfig(**llama, head_dim=8),
        dict(r=9, lora_alpha=5, use_rslora=True, target_modules=attention), dict(r=4, lora_alpha=8, target_modules=attention + mlp)),
    'gemma-both-rslora': (GemmaConfig(**llama, head_dim=8),
        dict(r=9, lora_alpha=5, use_rslora=True, target_modules=attention), dict(r=4, lora_alpha=8, use_rslora=True, target_modules=attention)),
    'gpt2': (gpt2, dict(r=4, lora_alpha=8, fan_in_fan_out=True, target_modules=['c_attn', 'c_fc']),
        dict(r=8, lora_alpha=8, fan_in_fan_out=True, target_modules=['c_attn', 'c_proj'])),
}


def make(out):
    for name, (config, *adapters) in cases.items():
        torch.manual_seed(17)
        base = f'{out}/{name}/base'
        model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(torch.randn_like(parameter) * 0.02)
        model.save_pretrained(base)
        for side, options in zip(('task', 'lang'), adapters):
            peft = get_peft_model(AutoModelForCausalLM.from_pretrained(base), LoraConfig(task_type='CAUSAL_LM', **options))
            with torch.no_grad():
                for parameter in peft.parameters():
                    if parameter.requires_grad:
                        parameter.add_(torch.randn_like(parameter) * 0.1)
            peft.save_pretrained(f'{out}/{name}/{side}')
    print(json.dumps(list(cases)))


def compare():
    results = []
    ids = torch.arange(48).reshape(2, 24)
    for line in sys.stdin.read().splitlines():
        base, adapter, full = line.split('\t')
        with warnings.catch_warnings(record=True) as caught, torch.no_grad():
            warnings.simplefilter('always')
            plain = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
            before = plain(ids).logits
            merged = PeftModel.from_pretrained(plain, adapter)(ids).logits
            expected = AutoModelForCausalLM.from_pretrained(full, dtype=torch.float32)(ids).logits
        said = [str(one.message) for one in caught if 'adapter keys' in str(one.message) or 'unexpected' in str(one.message).lower()]
        results.append({'difference': (merged - expected).abs().max().item(), 'moved': (expected - before).abs().max().item(), 'warnings': said})
    print(json.dumps(results))


make(sys.argv[2]) if sys.argv[1] == 'make' else compare()
