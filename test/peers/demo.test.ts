import { spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { root } from '../docs/fences.js';

const python = process.env['LAYERLOOM_PYTHON'];

const program = `
import sys
from transformers import AutoModelForCausalLM, AutoTokenizer
for name in ("base", "math-2", "swahili-1", "merged"):
    path = f"{sys.argv[1]}/{name}"
    tokenizer, model = AutoTokenizer.from_pretrained(path), AutoModelForCausalLM.from_pretrained(path)
    for prompt in ("three plus four is", "tatu jumlisha nne ni"):
        asked = tokenizer(prompt, return_tensors="pt")
        told = model.generate(**asked, max_new_tokens=4, do_sample=False)[0][asked["input_ids"].shape[1]:]
        print(tokenizer.decode(told, skip_special_tokens=True))
`;

it.skipIf(python === undefined)("gives the demo's answers in transformers too", { timeout: 600_000 }, () => {
  const directory = mkdtempSync(join(tmpdir(), 'layerloom-demo-'));
  const demo = join(directory, 'demo');
  const made = spawnSync(process.execPath, [join(root, 'examples/demo/demo.mjs'), demo], {
    encoding: 'utf8',
  });
  expect(made.status, made.stderr).toBe(0);
  const file = join(directory, 'answers.py');
  writeFileSync(file, program);
  const { stdout, stderr } = spawnSync(`${python}`, [file, demo], { encoding: 'utf8' });
  expect(stdout.trim().split('\n'), stderr).toEqual([
    'four',
    '?',
    'seven',
    '?',
    'four',
    'nne',
    'seven',
    'saba',
  ]);
});
