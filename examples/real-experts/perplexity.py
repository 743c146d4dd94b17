#!/usr/bin/env python3
"""Perplexity of checkpoints over the last rows of files of texts, and a sentence from each.

usage: perplexity.py --texts NAME=FILE [--texts NAME=FILE]... [--rows 50] [--prompt TEXT] MODEL...

FILE is as finetune.py takes it; of a TSV only the first column (the question) is read. Perplexity is exp of the mean negative
log-likelihood over all tokens but each text's first, in float32.
"""
import argparse, csv, math, os
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--texts', action='append', required=True); p.add_argument('--rows', type=int, default=50)
    p.add_argument('--prompt', default='Question: What is (12 + 30) * 2?\nAnswer:'); p.add_argument('models', nargs='+')
    a = p.parse_args()

    files = dict(t.split('=', 1) for t in a.texts)
    texts = {}
    for name, file in files.items():
        with open(file, encoding='utf8') as f:
            texts[name] = [r[0] for r in csv.reader(f, delimiter='\t', quoting=csv.QUOTE_NONE)][-a.rows:]
    print(f"{'model':24}" + ''.join(f'{n:>12}' for n in texts))
    for path in a.models:
        tokenizer = AutoTokenizer.from_pretrained(path)
        model, info = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32, output_loading_info=True)
        for key in ('missing_keys', 'unexpected_keys', 'mismatched_keys'):
            if info[key]:
                raise SystemExit(f'{path}: {key}: {sorted(info[key])[:5]}')
        model.eval()
        row = []
        for lines in texts.values():
            nll = tokens = 0
            with torch.no_grad():
                for line in lines:
                    ids = tokenizer(line, return_tensors='pt').input_ids
                    if ids.shape[1] > 1:
                        nll += model(ids, labels=ids).loss.item() * (ids.shape[1] - 1)
                        tokens += ids.shape[1] - 1
            row.append(math.exp(nll / tokens))
        print(f'{os.path.basename(os.path.normpath(path)):24}' + ''.join(f'{x:12.1f}' for x in row), flush=True)
        ids = tokenizer(a.prompt, return_tensors='pt').input_ids
        with torch.no_grad():
            out = model.generate(ids, max_new_tokens=24, do_sample=False, pad_token_id=tokenizer.eos_token_id)
        print('    ' + repr(tokenizer.decode(out[0][ids.shape[1]:], skip_special_tokens=True)))


main()
