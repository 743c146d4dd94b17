#!/usr/bin/env python3
"""Partitions in transformers and PEFT: partition.py make OUT FAMILY, or partition.py check BASE PARTS"""
import importlib.util
import json
import sys

import torch
from transformers import AutoModelForCausalLM, GPT2Config, LlamaConfig, Qwen2Config

common = dict(vocab_size=128, num_hidden_layers=6, num_attention_heads=4, hidden_size=32)
llama = dict(common, intermediate_size=48, num_key_value_heads=2, max_position_embeddings=64)
configs = {
    'llama': lambda: LlamaConfig(**llama, tie_word_embeddings=False),
    'qwen2': lambda: Qwen2Config(**llama, tie_word_embeddings=True),
    'gpt2': lambda: GPT2Config(vocab_size=128, n_layer=6, n_head=4, n_embd=32, n_positions=64),
}


def make(out, family):
    torch.manual_seed(2505)
    model = AutoModelForCausalLM.from_config(configs[family](), dtype=torch.float32)
    model.save_pretrained(f'{out}/base')
    start = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    for expert in ('swh', 'math'):
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                parameter.copy_(start[name] + torch.randn_like(parameter) * 0.01 * torch.rand(()))
        model.save_pretrained(f'{out}/{expert}')


def step(model):
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1.0)
    ids = torch.randint(0, 128, (4, 32), generator=torch.Generator().manual_seed(1))
    model(input_ids=ids, labels=ids).loss.backward()
    optimizer.step()
    return moved(model, before)


def moved(model, before):
    bits = lambda tensor: tensor.detach().view(torch.int32)
    return sorted(name for name, now in model.named_parameters() if not torch.equal(bits(now), bits(before[name])))


def in_trainer(model, callback, out):
    from transformers import Trainer, TrainingArguments

    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    ids = torch.randint(0, 128, (4, 32), generator=torch.Generator().manual_seed(1))
    rows = [{'input_ids': row, 'labels': row} for row in ids]
    arguments = TrainingArguments(output_dir=out, max_steps=1, learning_rate=1.0, lr_scheduler_type='constant',
                                  per_device_train_batch_size=4, report_to=[], save_strategy='no', use_cpu=True, disable_tqdm=True)
    Trainer(model, arguments, train_dataset=rows, callbacks=[callback]).train()
    return moved(model, before)


def check(base, parts):
    from peft import LoraConfig, get_peft_model

    spec = importlib.util.spec_from_file_location('freeze', f'{parts}/freeze.py')
    freeze = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(freeze)
    load = lambda: AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    found = {}
    for side in ('language', 'task'):
        model = load()
        trained = sorted(freeze.train_only(model, side))
        grads = sorted(name for name, parameter in model.named_parameters() if parameter.requires_grad)
        stepped = step(model)
        trainer = in_trainer(load(), freeze.TrainOnly(side), f'{parts}/trainer')
        with open(f'{parts}/{side}.peft.json') as file:
            adapted = get_peft_model(load(), LoraConfig(r=4, **json.load(file)))
        modules = sorted(name.removeprefix('base_model.model.') for name, module in adapted.named_modules() if hasattr(module, 'lora_A'))
        found[side] = {'trained': trained, 'grads': grads, 'stepped': stepped, 'trainer': trainer, 'modules': modules}
    try:
        freeze.train_only(torch.nn.Linear(2, 2), 'task')
        found['refusal'] = None
    except ValueError as error:
        found['refusal'] = str(error)
    print(json.dumps(found))


{'make': make, 'check': check}[sys.argv[1]](*sys.argv[2:])
