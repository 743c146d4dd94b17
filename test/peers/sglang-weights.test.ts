import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type PartHeld, TensorShardHashes } from '../../src/study/evaluation/servers/tensor-shard-hashes.js';
import { type TensorToLoad, WeightsToLoad } from '../../src/study/evaluation/servers/weights-to-load.js';
import { llama, writeCheckpoint } from '../fixtures/checkpoints.js';

const { LAYERLOOM_PYTHON: python = '' } = process.env;
const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const hasTorch = python !== '' && spawnSync(python, ['-c', 'import torch']).status === 0;

const root = mkdtempSync(join(tmpdir(), 'layerloom-sglang-'));
afterAll(() => {
  rmSync(root, { recursive: true, force: true });
});

const modelOf = async (seed: number): Promise<readonly TensorToLoad[]> => {
  const model = writeCheckpoint(join(root, `model-${seed}`), llama({ layers: 2, seed }));
  return (await new WeightsToLoad().of(model)) ?? [];
};

const answers = new Map<string, readonly Answer[]>();

interface Answer {
  readonly loaded: { readonly tensors: number; readonly whole: boolean };
  readonly fingerprint: Readonly<Record<string, readonly PartHeld[]>>;
  readonly permanent: boolean;
  readonly reason: string;
}

const refused: [string, RegExp][] = [
  ['quantised', /keeps parts\.\S+ by Fp8LinearMethod, in a form that cannot be compared/],
  ['post load', /Model derives tensors from its weights/],
  ['derived', /parts\.\S+\.cached is no parameter/],
  ['further', /bias of the server's model comes from no tensor of the checkpoint/],
  ['part', /a part of parts\.\S+\.weight of the server's model comes from no tensor/],
  ['made over', /makes parts\.\S+\.weight over after a load/],
  ['made over in place', /makes parts\.\S+\.weight over after a load/],
  ['copied', /_proj\.weight went to no parameter of the server's model that could be seen/],
  ['narrow', /_proj\.weight is BF16, whose values the server's torch\.float16 does not hold/],
];

const saidOf = (form: string): readonly Answer[] => answers.get(form) ?? [];

describe.skipIf(!hasTorch)('the weight loader of SGLang', () => {
  let a: readonly TensorToLoad[] = [];
  let b: readonly TensorToLoad[] = [];
  let c: readonly TensorToLoad[] = [];

  beforeAll(async () => {
    [a, b] = [await modelOf(1), await modelOf(2)];
    const [first, second] = [a, b];
    c = first.map(
      (tensor) => second.find(({ name }) => name === tensor.name && /1.*k_proj/.test(name)) ?? tensor,
    );
    const gone = second.map((tensor) => ({ ...tensor, file: `${tensor.file}.gone` }));
    const asked = (fingerprint: string, ...models: object[]) =>
      models.map((weights) => ({ weights, whole: false, fingerprint }));
    const requests: [string, readonly object[]][] = [
      ['plain', asked('samples', first, c, second, second, first)],
      ['changed', [...asked('samples', first), ...asked('whole', c)]],
      ['gone', asked('samples', first, gone, first)],
      ...refused.map(([form]): [string, object[]] => [form, asked('samples', first)]),
    ];
    const { stdout, stderr, status } = spawnSync(python, [path('sglang_weights.py')], {
      input: requests.map(([form, requests]) => `${JSON.stringify({ form, requests })}\n`).join(''),
      encoding: 'utf8',
      env: { ...process.env, PYTHONPATH: path('../../python') },
    });
    expect([status, status === 0 ? '' : stderr]).toEqual([0, '']);
    for (const [index, line] of stdout.trim().split('\n').entries())
      answers.set(requests[index]?.[0] ?? '', JSON.parse(line));
  });

  it('loads what differs, and says what the parameters hold', async () => {
    const said = saidOf('plain');
    expect(said.map(({ loaded }) => loaded.tensors)).toEqual([a.length, 1, a.length - 1, 0, a.length]);
    expect(said.map(({ loaded }) => loaded.whole)).toEqual([true, false, false, false, true]);
    for (const [index, weights] of [a, c, b, b, a].entries())
      expect(
        await new TensorShardHashes().differing(weights, [said[index]?.fingerprint ?? {}], 'samples'),
      ).toEqual([]);
    expect(await new TensorShardHashes().differing(b, [said[0]?.fingerprint ?? {}], 'samples')).toHaveLength(
      b.length,
    );
  });

  it('hashes what the parameters hold, not what was loaded', async () => {
    const [, after] = saidOf('changed');
    expect(await new TensorShardHashes().differing(c, [after?.fingerprint ?? {}], 'whole')).toEqual([
      'model.norm.weight',
    ]);
  });

  it.each(refused)('refuses a model that is %s', (form, reason) => {
    expect(saidOf(form)).toMatchObject([{ permanent: true, reason: expect.stringMatching(reason) }]);
  });

  it('answers where a file is gone, and then loads everything', () => {
    const [, failed, again] = saidOf('gone');
    expect(failed).toMatchObject({ permanent: false, reason: expect.stringContaining('.gone') });
    expect(again?.loaded.whole).toBe(true);
  });
});
