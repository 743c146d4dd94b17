import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { merge, type RecipeInput } from '../../src/index.js';
import { temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { readTensors } from '../fixtures/merged.js';

// Thresholds of large bfloat16 tensors are guessed from a sample, and results of a wrong guess are corrected.
// Compares the kept elements with a sort: experts are pruned here, and merged with nothing left to prune.

const [rows, columns] = [2560, 512];
const count = rows * columns;
const bytes = 2 * count;

type Changes = (row: number, random: number) => number;

/**
 * Bfloat16 of one exponent, so that a change by n units in the last place has the same magnitude everywhere.
 */
const base = Uint16Array.from({ length: count }, (_, i) => 0x3c00 + 16 + ((i * 37) % 96));

const expertOf = (changes: Changes, seed: number): Uint16Array => {
  let state = seed;
  return base.map((bits, i) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return bits + changes(Math.floor(i / columns), state >>> 8);
  });
};

/** Keeps elements `first` to `end` in order of their changes; the others become the base's. */
const prunedTo = (expert: Uint16Array, first: number, end: number, early: boolean): Uint16Array => {
  const sizes = expert.map((bits, i) => Math.abs(bits - (base[i] ?? 0)));
  const ofSize = new Array<number>(64).fill(0);
  for (const size of sizes) ofSize[size] = (ofSize[size] ?? 0) + 1;
  const next = ofSize.map((_, size) => ofSize.slice(size + 1).reduce((total, n) => total + n, 0));
  const pruned = base.slice();
  for (let n = 0; n < count; n += 1) {
    const i = early ? n : count - 1 - n;
    const size = sizes[i] ?? 0;
    const rank = next[size] ?? 0;
    next[size] = rank + 1;
    if (rank >= first && rank < end) pruned[i] = expert[i] ?? 0;
  }
  return pruned;
};

const density = 0.45;
const kept = Math.floor(density * count);
const [gamma, removed] = [0.2, Math.floor(0.2 * count)];

const methods = {
  ties: {
    parameters: { density },
    all: { density: 1 },
    prune: (x: Uint16Array) => prunedTo(x, 0, kept, true),
  },
  breadcrumbs: {
    parameters: { density, gamma },
    all: { density: 1, gamma: 0 },
    prune: (x: Uint16Array) => prunedTo(x, removed, removed + kept, false),
  },
};

const cases: readonly (readonly [string, Changes, boolean])[] = [
  ['many have one magnitude', (_, random) => (random % 17) - 8, true],
  ['most are 0', (_, random) => (random % 50 === 0 ? 1 : 0), true],
  ['they are larger in later rows', (row, random) => Math.trunc((((random % 17) - 8) * row) / rows), false],
  // In the sampled rows, all changes are larger than any other.
  ['a sample misleads', (row, random) => (row % 80 === 40 ? 12 : (random % 9) - 4), false],
];

describe('a merge whose thresholds are guessed', () => {
  let root = '';
  beforeEach(() => {
    root = temporaryDirectory();
    write('base', base);
  });

  const write = (name: string, data: Uint16Array): string =>
    writeCheckpoint(join(root, name), {
      tensors: { large: { dtype: 'BF16', shape: [rows, columns], data: new Uint8Array(data.buffer) } },
    });

  const mergeOf = async (
    recipe: Record<string, unknown>,
    experts: readonly string[],
    options: object = {},
  ) => {
    const models = experts.map((model, index) => ({ model, weight: 1 - index / 4 }));
    const out = join(root, 'out');
    const input = { ...recipe, base: join(root, 'base'), models } as unknown as RecipeInput;
    const { bytesRead } = await merge(input, { out, force: true, ...options });
    return { data: (await readTensors(out))['large']?.data, bytesRead };
  };

  it.each(cases)('keeps what a sort keeps where %s', async (_, changes, isOnePass) => {
    const experts = [3, 5].map((seed) => expertOf(changes, seed));
    const models = experts.map((expert, index) => write(`expert-${index}`, expert));
    for (const [method, { parameters, all, prune }] of Object.entries(methods)) {
      const pruned = experts.map((expert, index) => write(`pruned-${index}`, prune(expert)));
      const wanted = await mergeOf({ method, ...all }, pruned);
      const { data, bytesRead } = await mergeOf({ method, ...parameters }, models, {
        threads: 3,
        sliceBytes: 4096 * 25,
      });
      expect(Buffer.compare(data ?? new Uint8Array(), wanted.data ?? new Uint8Array())).toBe(0);
      if (isOnePass) expect(bytesRead).toBeLessThan(1.5 * 3 * bytes);
    }
  });

  it('tells of values that are not finite as any other', async () => {
    const expert = expertOf((_, random) => (random % 17) - 8, 3);
    expert[count - 7] = 0x7f80;
    const models = [write('infinite', expert)];
    const recipe = { method: 'ties', density };
    await expect(mergeOf(recipe, models)).rejects.toMatchObject({
      code: 'NON_FINITE',
      details: { tensors: [{ tensor: 'large', index: [rows - 1, columns - 7] }] },
    });
    const { data } = await mergeOf(recipe, models, { allowNonFinite: true });
    expect(new Uint16Array((data ?? new Uint8Array()).slice().buffer)[count - 7]).toBe(0x7f80);
  });
});
