import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { merge } from '../../src/index.js';

const { LAYERLOOM_PYTHON: python = '', LAYERLOOM_FUSION_BENCH_PYTHON: peer = '' } = process.env;

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const script = path('regmean/regmean.py');

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

const root = mkdtempSync(join(tmpdir(), 'layerloom-regmean-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const gramsOf = (name: string) => join(root, `${name}.grams.safetensors`);
const program = ['-m', 'layerloom.train.grams'];

const makeModels = () => {
  run(python, path('fisher/fisher.py'), 'models', root);
  for (const name of ['a', 'b', 'c'])
    run(python, ...program, join(root, name), '--data', join(root, `${name}.jsonl`), '-o', gramsOf(name));
};

describe.skipIf(python === '')('Gram matrices by layerloom.train (LAYERLOOM_PYTHON)', () => {
  beforeAll(makeModels);

  it('are the mean of x xᵀ over the tokens of all rows, of every linear layer', () => {
    for (const name of ['a', 'b']) {
      const found = JSON.parse(run(python, script, 'grams', join(root, name), gramsOf(name)));
      expect(found).toMatchObject({ same: true, symmetric: true });
      // Inputs in float32 against float64, relative to a matrix's largest.
      expect(found.most).toBeLessThan(1e-5);
    }
    // Two layers of 4 matrices, one of them 48 wide, and the head.
    expect(statSync(gramsOf('a')).size).toBeLessThan(4 * (7 * 32 ** 2 + 2 * 48 ** 2) + 4096);
  });

  it('are the same made one by one, and without those of layers that are left out', () => {
    const data = ['--data', join(root, 'a.jsonl')];
    const again = join(root, 'again.safetensors');
    run(python, ...program, join(root, 'a'), ...data, '-o', again, '--memory', '1e-9');
    expect(readFileSync(again)).toEqual(readFileSync(gramsOf('a')));
    run(python, ...program, join(root, 'a'), ...data, '-o', again, '--exclude', 'mlp|lm_head');
    expect(statSync(again).size).toBeLessThan(4 * 4 * 32 ** 2 + 4096);
  });

  it.each([
    [['--rows', '1'], '{"text": ""}\n', 'rows.jsonl:1: fewer than two tokens'],
    [
      ['--exclude', '.'],
      '{"text": "w1 w2"}\n',
      'the model has no linear layers (torch.nn.Linear), but excluded ones',
    ],
  ])('are not made with %j of %j', (args, rows, message) => {
    const file = join(root, 'rows.jsonl');
    writeFileSync(file, rows);
    const out = join(root, 'none.safetensors');
    const { status, stderr } = spawnSync(
      python,
      [...program, join(root, 'a'), '--data', file, '-o', out, ...args],
      { env: environment },
    );
    expect(status).toBe(1);
    expect(stderr.toString()).toContain(message);
    expect(existsSync(out)).toBe(false);
  });
});

describe.skipIf(python === '')(
  'what layerloom.train cannot make is an error in words (LAYERLOOM_PYTHON)',
  () => {
    beforeAll(() => {
      run(python, path('fisher/fisher.py'), 'models', root);
      cpSync(join(root, 'a'), join(root, 'silent'), { recursive: true });
      for (const name of readdirSync(join(root, 'silent')))
        if (name.includes('token')) rmSync(join(root, 'silent', name));
    });

    it.each([
      [
        'a folder that is not there',
        'a',
        ['-o', join(root, 'nowhere', 'x.safetensors')],
        'there is no folder ',
      ],
      ['a device that is none', 'a', ['--device', 'gpu'], 'error: --device gpu: '],
      ['a device that is not here', 'a', ['--device', 'cuda:99'], 'error: --device cuda:99: '],
      ['a model without a tokenizer', 'silent', [], 'its tokenizer cannot be loaded: '],
      ['no model', 'none', [], 'cannot be loaded: '],
    ])('%s', (_, model, args, message) => {
      for (const of of ['layerloom.train.grams', 'layerloom.train.importances']) {
        const given = ['-m', of, join(root, model), '--data', join(root, 'a.jsonl')];
        const out = ['-o', join(root, 'none.safetensors')];
        const { status, stderr } = spawnSync(python, [...given, ...out, ...args], { env: environment });
        expect(stderr.toString()).toContain(message);
        expect(stderr.toString()).not.toContain('Traceback');
        expect(status).toBe(1);
      }
    });
  },
);

describe.skipIf(python === '' || peer === '')(
  'RegMean by fusion-bench (LAYERLOOM_PYTHON, LAYERLOOM_FUSION_BENCH_PYTHON)',
  () => {
    beforeAll(makeModels);

    it.each([
      ['of two', 2, 0.9],
      ['of three', 3, 0.9],
      ['of diagonals', 2, 0],
      ['nearly unscaled', 3, 0.99],
    ] as const)('is the same to float32: %s', async (name, count, scaling) => {
      const out = join(root, name);
      const names = ['a', 'b', 'c'].slice(0, count);
      const models = names.map((one) => join(root, one));
      const grams = names.map(gramsOf);
      await merge({ method: 'regmean', models, grams, scaling }, { out, layout: 'size' });
      const found = JSON.parse(run(peer, script, 'merge', JSON.stringify({ models, grams, scaling, out })));
      expect(found).toMatchObject({ tensors: 21, solved: 15 });
      // Relative to the largest of the models' elements; and the distance from the plain average.
      expect(found.most).toBeLessThan(1e-6);
      expect(found.moved).toBeGreaterThan(0.01);
    });
  },
);
