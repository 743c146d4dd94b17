import { execFile, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import {
  chooseParts,
  diff,
  merge,
  type PartParameters,
  type RecipeInput,
  runExperiment,
} from '../../src/index.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';

const { LAYERLOOM_PYTHON: python, LAYERLOOM_EXPERTS: experts } = process.env;
const isHere = experts !== undefined && spawnSync(python ?? '', ['-c', 'import numpy']).status === 0;

type Expected = readonly [
  readonly (readonly [string, number])[],
  readonly number[] | '*' | null,
  string | null,
];

const at = (name: string): string => join(experts ?? '', name);
const [base, math, second, japanese] = [at('base'), at('math-1'), at('math-2'), at('jpn-1')];
const whole = (model: string): Expected[0] => [[model, 1]];
const outer = [0, 1, 2, 3, 4, 28, 29];

const check = async (merged: string, parts: readonly Expected[]): Promise<unknown> => {
  const file = join(temporaryDirectory(), 'parts.json');
  writeFileSync(file, JSON.stringify(parts));
  return run('check', merged, file);
};

const run = async (...args: string[]): Promise<unknown> => {
  const script = fileURLToPath(new URL('parts.py', import.meta.url));
  return JSON.parse((await promisify(execFile)(python ?? '', [script, ...args])).stdout);
};

describe.skipIf(!isHere)('parts of real experts (LAYERLOOM_PYTHON with numpy, LAYERLOOM_EXPERTS)', () => {
  it.each<[string, object, readonly Expected[]]>([
    [
      'layers of two experts and of their base',
      { task: math, language: japanese, base, langLayers: '0-4,28,29', baseLayers: '12-14', weights: [1, 3] },
      [
        [whole(japanese), outer, null],
        [whole(base), [12, 13, 14], null],
        [
          [
            [math, 1],
            [japanese, 3],
          ],
          null,
          null,
        ],
        [whole(math), '*', null],
      ],
    ],
    [
      'modules of three models, and an average of three',
      {
        parts: [
          { model: japanese, layers: '0-4,28-29', modules: ['attention', 'norms'] },
          { model: second, layers: '0-4,28-29', modules: 'feed_forward' },
          { models: [base, math, japanese], weights: [1, 2, 0.5], layers: '9,11' },
          { models: [math, second], layers: 'outside', modules: 'norms' },
          { model: base, modules: 'embeddings' },
          { model: math, layers: 'rest' },
        ],
      },
      [
        [whole(japanese), outer, 'self_attn|norm'],
        [whole(second), outer, 'mlp'],
        [
          [
            [base, 1],
            [math, 2],
            [japanese, 0.5],
          ],
          [9, 11],
          null,
        ],
        [
          [
            [math, 1],
            [second, 1],
          ],
          null,
          'norm',
        ],
        [whole(base), null, 'embed'],
        [whole(math), '*', null],
      ],
    ],
  ])('are %s, byte for byte', async (_, recipe, parts) => {
    const out = join(temporaryDirectory(), 'out');
    await merge({ method: 'layer_swap', ...recipe } as unknown as RecipeInput, { out });
    const found = (await check(out, parts)) as { copied: number; averaged: number };
    expect(found.copied + found.averaged).toBe(272);
    expect(found.averaged).toBeGreaterThan(0);
  });

  it('are the same in a batch, where merges share what they have in common', async () => {
    const root = temporaryDirectory();
    const parts: readonly PartParameters[] = [
      { model: 'language', layers: '0-2', modules: 'attention' },
      { model: 'base', layers: 7 },
      { model: 'task', layers: 'rest' },
    ];
    const out = join(root, 'out');
    const { experiment } = await runExperiment(
      {
        base,
        tasks: { 'math-1': math },
        languages: { japanese: { 'jpn-1': japanese } },
        merges: [
          { name: 'default', method: 'layer_swap' },
          { name: 'set', method: 'layer_swap', langLayers: '0-4,28-29' },
          { name: 'parts', method: 'layer_swap', parts },
        ],
      },
      { out },
    );
    expect(experiment.merges.map(({ state }) => state)).toEqual(['done', 'done', 'done']);
    const at = (name: string) => join(out, 'japanese/math-1+jpn-1', name);
    const swapped: Expected[] = [
      [whole(japanese), outer, null],
      [
        [
          [math, 1],
          [japanese, 1],
        ],
        null,
        null,
      ],
      [whole(math), '*', null],
    ];
    expect(await check(at('set'), swapped)).toEqual({ copied: 270, averaged: 2 });
    expect(await check(at('default'), swapped)).toEqual({ copied: 270, averaged: 2 });
    expect(
      await check(at('parts'), [
        [whole(japanese), [0, 1, 2], 'self_attn'],
        [whole(base), [7], null],
        [whole(math), '*', null],
      ]),
    ).toEqual({ copied: 272, averaged: 0 });
  });

  it.each([
    ['layer', 0.001],
    ['layer', 0.003],
    ['module', 0.001],
    ['module', 0.002],
  ] as const)('are chosen by %s and a threshold of %s as by the rule in NumPy', async (by, tau) => {
    const root = temporaryDirectory();
    const measured = async (expert: string): Promise<string> => {
      const file = join(root, `${basename(expert)}.json`);
      writeFileSync(file, JSON.stringify(await diff(base, expert)));
      return file;
    };
    const files = { task: await measured(math), language: await measured(japanese) };
    const { units } = await chooseParts({ ...files, by, tau });
    const names = { attention: 'self_attn', feed_forward: 'mlp' };
    const expected = (await run('choose', base, math, japanese, `${tau}`, by)) as Record<
      string,
      [string, number]
    >;
    expect(units).toHaveLength(Object.keys(expected).length);
    for (const { layer, module, from } of units) {
      const [kind, margin] = expected[`${layer} ${module === null ? 'layer' : names[module]}`] ?? [];
      expect(margin).toBeGreaterThan(1e-9);
      expect([layer, module, from]).toEqual([layer, module, kind]);
    }
  });
});
