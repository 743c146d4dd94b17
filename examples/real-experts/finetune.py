#!/usr/bin/env python3
"""Fine-tunes a base into an expert, on a file of texts.

usage: finetune.py BASE TEXTS OUT [--lr 2e-5] [--steps 40] [--batch 4] [--length 128] [--seed 1] [--hold-out 50]

BASE   a checkpoint directory or hub name
TEXTS  one text a line, or TSV whose columns are joined by a line break (question, answer); the last --hold-out rows are not trained on
OUT    where the expert goes, in bfloat16, with the base's tokenizer

A demonstration at small size: full fine-tuning in float32, constant rate, no evaluation. Experts of one base differ in --seed, --lr and
texts; layer swapping merges any two.
"""
import argparse, csv, os, random
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('base'); p.add_argument('texts'); p.add_argument('out')
    p.add_argument('--lr', type=float, default=2e-5); p.add_argument('--steps', type=int, default=40)
    p.add_argument('--batch', type=int, default=4); p.add_argument('--length', type=int, default=128)
    p.add_argument('--seed', type=int, default=1); p.add_argument('--hold-out', type=int, default=50)
    a = p.parse_args()
    if os.path.lexists(a.out):
        raise SystemExit(f'{a.out} is there; name another directory')

    with open(a.texts, encoding='utf8') as f:
        texts = ['\n'.join(row) for row in csv.reader(f, delimiter='\t', quoting=csv.QUOTE_NONE)]
    texts = texts[:len(texts) - a.hold_out]
    rng = random.Random(a.seed)
    torch.manual_seed(a.seed)
    tokenizer = AutoTokenizer.from_pretrained(a.base)
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    model = AutoModelForCausalLM.from_pretrained(a.base, dtype=torch.float32)
    optimiser = torch.optim.AdamW(model.parameters(), lr=a.lr, weight_decay=0.1)
    for step in range(a.steps):
        batch = tokenizer(rng.sample(texts, a.batch), return_tensors='pt', padding=True, truncation=True, max_length=a.length)
        labels = batch['input_ids'].masked_fill(batch['attention_mask'] == 0, -100)
        loss = model(**batch, labels=labels).loss
        loss.backward()
        optimiser.step()
        optimiser.zero_grad()
        if step % 10 == 0:
            print(f'step {step}: loss {loss.item():.3f}', flush=True)
    model.to(torch.bfloat16).save_pretrained(a.out)
    tokenizer.save_pretrained(a.out)


main()
