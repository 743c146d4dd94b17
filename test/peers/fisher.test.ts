import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { merge } from '../../src/index.js';

const { LAYERLOOM_PYTHON: python = '', LAYERLOOM_FUSION_BENCH_PYTHON: peer = '' } = process.env;

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const script = path('fisher/fisher.py');

const environment = {
  ...process.env,
  HF_HUB_OFFLINE: '1',
  OMP_NUM_THREADS: '1',
  PYTHONPATH: path('../../python'),
};

const run = (by: string, ...args: readonly string[]): string =>
  execFileSync(by, ['-W', 'ignore', ...args], {
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  }).toString();

const root = mkdtempSync(join(tmpdir(), 'layerloom-fisher-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const importancesOf = (name: string) => join(root, `${name}.fisher.safetensors`);
const program = ['-m', 'layerloom.train.importances'];

const makeModels = () => {
  run(python, script, 'models', root);
  for (const name of ['a', 'b', 'c'])
    run(
      python,
      ...program,
      join(root, name),
      '--data',
      join(root, `${name}.jsonl`),
      '-o',
      importancesOf(name),
    );
};

const metadataOf = (file: string): Record<string, string> => {
  const bytes = readFileSync(file);
  return JSON.parse(bytes.subarray(8, 8 + Number(bytes.readBigUInt64LE(0))).toString()).__metadata__;
};

/** The bytes of a safetensors file after its header, whose metadata has no fixed order. */
const tensorsIn = (file: string): Buffer => {
  const bytes = readFileSync(file);
  return bytes.subarray(8 + Number(bytes.readBigUInt64LE(0)));
};

describe.skipIf(python === '')('importances by layerloom.train (LAYERLOOM_PYTHON)', () => {
  beforeAll(makeModels);

  it('are the mean over rows of the squared gradient of their log-likelihood', () => {
    const found = JSON.parse(run(python, script, 'head', join(root, 'a'), importancesOf('a')));
    expect(found).toMatchObject({ tensors: true, unseen: 0 });
    expect(found.least).toBeGreaterThanOrEqual(0);
    // Gradients in float32 against float64, relative to a tensor's largest.
    expect(found.head).toBeLessThan(1e-5);
    expect(found.others).toBeLessThan(1e-5);
    expect(metadataOf(importancesOf('a'))['rows']).toBe('4');
  });

  it('of messages are those of the text that the chat template makes of them', () => {
    const made = ['{"text": "w1 w2 w3"}', '{"messages": [{"role": "user", "content": "w1 w2 w3"}]}'].map(
      (row, index) => {
        const [rows, out] = [join(root, `form-${index}.jsonl`), join(root, `form-${index}.safetensors`)];
        writeFileSync(rows, `${row}\n`);
        run(python, ...program, join(root, 'b'), '--data', rows, '-o', out);
        return tensorsIn(out);
      },
    );
    expect(made[1]).toEqual(made[0]);
  });

  it.each([
    ['{"text": "w1 w2"}\nno JSON\n', 'rows.jsonl:2: not JSON'],
    ['{"prompt": "w1 w2"}\n', 'rows.jsonl:1: neither `text` nor `messages`'],
    ['{"text": ""}\n', 'rows.jsonl:1: fewer than two tokens'],
    ['{"messages": []}\n', "rows.jsonl:1: messages, and the model's tokenizer has no chat template"],
    ['\n', 'rows.jsonl: no rows'],
  ])('are not made of %j', (rows, message) => {
    const file = join(root, 'rows.jsonl');
    writeFileSync(file, rows);
    const out = join(root, 'none.safetensors');
    const { status, stderr } = spawnSync(python, [...program, join(root, 'a'), '--data', file, '-o', out], {
      env: environment,
    });
    expect(status).toBe(1);
    expect(stderr.toString()).toContain(`error: ${file.replace('rows.jsonl', '')}${message}`);
  });
});

describe.skipIf(python === '' || peer === '')(
  'Fisher-weighted averages by fusion-bench (LAYERLOOM_PYTHON, LAYERLOOM_FUSION_BENCH_PYTHON)',
  () => {
    beforeAll(makeModels);

    it.each([
      ['uniform', [0.5, 0.5], 1e-6, false],
      ['of three', [1 / 3, 1 / 3, 1 / 3], 1e-6, false],
      ['weighted', [0.75, 0.25], 1e-6, false],
      ['of a small eps', [0.5, 0.5], 1e-12, false],
      ['normalised', [0.5, 0.5], 1e-6, true],
    ] as const)('are the same to float32: %s', async (name, scales, eps, normalize) => {
      const out = join(root, name);
      const names = ['a', 'b', 'c'].slice(0, scales.length);
      const files = names.map(importancesOf);
      const weights = normalize
        ? files.map((file, index) => (scales[index] ?? 0) / (Number(metadataOf(file)['norm']) + eps))
        : scales;
      const models = names.map((name) => join(root, name));
      await merge({ method: 'fisher', models, importances: files, weights, eps }, { out, layout: 'size' });
      const check = { models, importances: files, scales, eps, normalize, out };
      const found = JSON.parse(run(peer, script, 'merge', JSON.stringify(check)));
      expect(found.elements).toBeGreaterThan(15_000);
      // Relative to the largest of the models' elements. If coefficients round alike, the bits are the same.
      expect(found.most).toBeLessThan(1e-6);
      if (!normalize) expect(found.differing).toBe(0);
    });
  },
);
