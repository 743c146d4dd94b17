#!/usr/bin/env python3
"""Two randomly initialised models of each family, saved by transformers in small shards: families.py OUT FAMILY DTYPE"""
import sys
import torch
from transformers import (AutoModelForCausalLM, FalconConfig, Gemma2Config, Gemma3TextConfig, GPTNeoXConfig, LlamaConfig, MistralConfig,
                          MixtralConfig, Olmo2Config, Phi3Config, Qwen2Config, Qwen3Config)

out, family, dtype = sys.argv[1:4]
common = dict(vocab_size=512, hidden_size=64, num_hidden_layers=8, num_attention_heads=4)
llama = dict(common, intermediate_size=96, num_key_value_heads=2, max_position_embeddings=128)
configs = {
    'llama-tied': lambda: LlamaConfig(**llama, tie_word_embeddings=True),
    'llama-untied': lambda: LlamaConfig(**llama, tie_word_embeddings=False),
    'qwen2': lambda: Qwen2Config(**llama),
    'qwen3': lambda: Qwen3Config(**llama, head_dim=16),
    'gemma2': lambda: Gemma2Config(**llama, head_dim=16),
    'gemma3': lambda: Gemma3TextConfig(**llama, head_dim=16),
    'mistral': lambda: MistralConfig(**llama),
    'mixtral': lambda: MixtralConfig(**llama, num_local_experts=4),
    'phi3': lambda: Phi3Config(**llama, pad_token_id=0),
    'gpt-neox': lambda: GPTNeoXConfig(**common, intermediate_size=96, max_position_embeddings=128),
    'olmo2': lambda: Olmo2Config(**llama),
    'falcon': lambda: FalconConfig(**common, new_decoder_architecture=True, num_kv_heads=2),
}
torch.manual_seed(2410)
for expert in ('task', 'lang'):
    model = AutoModelForCausalLM.from_config(configs[family](), dtype=torch.float32)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.02)
    model.to(getattr(torch, dtype)).save_pretrained(f'{out}/{expert}', max_shard_size='100KB')
