import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  analyze,
  type ChooseParameters,
  chooseParts,
  diff,
  merge,
  planMerge,
  type RecipeInput,
} from '../../src/index.js';
import { type LlamaOptions, llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { decode, encode } from '../fixtures/numbers.js';

const layers = 4;

/** How far an expert moved each layer: its `attention`, `feed_forward` or both, times its own numbers. */
type Moves = readonly (number | { attention: number; feed_forward: number })[];

const writeExperts = (moves: { task: Moves; language: Moves }, options: LlamaOptions = {}) => {
  const root = temporaryDirectory();
  const base = llama({ layers, dtype: 'F32', ...options });
  const write = (name: string, of: Moves | undefined) => {
    const tensors = Object.fromEntries(
      Object.entries(base.tensors).map(([tensor, { dtype, shape, data }]) => {
        const layer = Number(/layers\.(\d+)\./.exec(tensor)?.[1] ?? -1);
        const move = of?.[layer] ?? 0;
        const isFeedForward = /mlp/.test(tensor);
        const by =
          /norm/.test(tensor) || layer < 0
            ? of === undefined
              ? 0
              : 3
            : typeof move === 'number'
              ? move
              : move[isFeedForward ? 'feed_forward' : 'attention'];
        const values = decode('F32', data).map(() => 1 + by);
        return [tensor, { dtype, shape, data: encode('F32', values) }];
      }),
    );
    return writeCheckpoint(join(root, name), { ...base, tensors });
  };
  return {
    root,
    base: write('base', undefined),
    task: write('task', moves.task),
    language: write('language', moves.language),
  };
};

type Experts = ReturnType<typeof writeExperts>;

const compare = async ({ root, base, task, language }: Experts) => {
  const write = async (name: string, expert: string) => {
    const file = join(root, `${name}.diff.json`);
    writeFileSync(file, JSON.stringify(await diff(base, expert)));
    return file;
  };
  return { task: await write('task', task), language: await write('language', language) };
};

const choose = async (experts: Experts, more: Partial<ChooseParameters> = {}) =>
  await chooseParts({ ...(await compare(experts)), ...more }, { folder: experts.root });

const sources = (chosen: Awaited<ReturnType<typeof choose>>) =>
  chosen.units.map(({ from }) => from).join(' ');

const moves = { task: [0.1, 0.2, 0.3, 0.4], language: [0.4, 0.2, 0.301, 0.1] };

describe('parts by a threshold', () => {
  it('are the expert’s whose share of its change is larger by more than tau, and blended else', async () => {
    const experts = writeExperts(moves);
    // Shares: 0.1, 0.2, 0.3, 0.4 against 0.4, 0.2, 0.301, 0.1 of 1.001.
    expect(sources(await choose(experts))).toBe('language blend blend task');
    expect(sources(await choose(experts, { tau: 0.0001 }))).toBe('language task language task');
    expect(sources(await choose(experts, { tau: 0.31 }))).toBe('blend blend blend blend');
    const { units } = await choose(experts);
    expect(units.map(({ task }) => Number(task.toFixed(6)))).toEqual([0.1, 0.2, 0.3, 0.4]);
    expect(units.map(({ language }) => Number((language * 1.001).toFixed(6)))).toEqual([
      0.4, 0.2, 0.301, 0.1,
    ]);
  });

  it('are a recipe that says the same layers, without the measurements', async () => {
    const experts = writeExperts(moves);
    const { recipe } = await choose(experts, { alpha: 0.25 });
    expect(recipe).toEqual({
      method: 'layer_swap',
      task: './task',
      language: './language',
      base: './base',
      parts: [
        { model: 'task', layers: '3' },
        { model: 'language', layers: '0' },
        { models: ['task', 'language'], weights: [0.25, 0.75], layers: '1-2' },
        { models: ['task', 'language'], weights: [0.25, 0.75], layers: 'outside' },
      ],
    });
    const { task, language, base } = experts;
    const { out } = await merge({ ...recipe, task, language, base } as RecipeInput, {
      out: join(experts.root, 'out'),
    });
    const file = JSON.parse(readFileSync(join(out, 'layerloom.json'), 'utf8'));
    expect(file.completeRecipe.parts).toEqual(recipe.parts);
  });

  it('of modules take each by itself, and norms from the language expert', async () => {
    const experts = writeExperts({
      task: [{ attention: 0.3, feed_forward: 0.1 }, 0.1, 0.1, 0.1],
      language: [{ attention: 0.1, feed_forward: 0.3 }, 0.1, 0.1, 0.1],
    });
    const { recipe, units } = await choose(experts, { by: 'module', tau: 0.01 });
    expect(units).toHaveLength(2 * layers);
    expect(recipe.parts).toEqual([
      { model: 'task', layers: '0', modules: ['attention'] },
      { models: ['task', 'language'], weights: [0.5, 0.5], layers: '1-3', modules: ['attention'] },
      { model: 'language', layers: '0', modules: ['feed_forward'] },
      { models: ['task', 'language'], weights: [0.5, 0.5], layers: '1-3', modules: ['feed_forward'] },
      { models: ['task', 'language'], weights: [0.5, 0.5], layers: 'outside' },
      { model: 'language', layers: 'rest' },
    ]);
    await planMerge({
      ...recipe,
      task: experts.task,
      language: experts.language,
      base: experts.base,
    } as RecipeInput);
  });

  it('of a saved analysis are by mean MAV, at any threshold of it', async () => {
    const experts = writeExperts(moves);
    const out = join(experts.root, 'analysis');
    await analyze({ base: experts.base, experts: [experts.task, experts.language] }, { out });
    const files = { task: join(out, 'task.json'), language: join(out, 'language.json') };
    const chosen = await chooseParts(files, { folder: experts.root });
    expect(chosen.measure).toBe('mav');
    expect(sources(chosen)).toBe('language blend blend task');
    expect(chosen.recipe.task).toBe('./task');
  });
});

describe('the top layers of a statistic', () => {
  it('come from the language expert, the others from the task expert', async () => {
    const experts = writeExperts({ task: [0.1, 0.5, 0.1, 0.1], language: [0.2, 0.5, 0.1, 0.1] });
    const top = async (count: number, statistic?: 'change' | 'difference') =>
      sources(await choose(experts, { top: count, statistic }));
    expect(await top(1)).toBe('language task task task');
    expect(await top(1, 'change')).toBe('task language task task');
    expect(await top(2, 'change')).toBe('language language task task');
    expect(await top(0)).toBe('task task task task');
    expect(await top(4)).toBe('language language language language');
  });

  it('that are equal are the lower ones', async () => {
    const experts = writeExperts({ task: [0.1, 0.1, 0.1, 0.1], language: [0.1, 0.1, 0.1, 0.1] });
    expect(sources(await choose(experts, { top: 2 }))).toBe('language language task task');
  });

  it('leave norms of chosen modules to the task expert', async () => {
    const experts = writeExperts(moves);
    const { recipe } = await choose(experts, { top: 3, by: 'module' });
    expect(recipe.parts.at(-1)).toEqual({ model: 'task', layers: 'rest' });
  });
});

describe('a choice', () => {
  it.each<[string, Partial<ChooseParameters>, string]>([
    ['another unit', { by: 'head' as 'layer' }, 'by'],
    ['a weight above 1', { alpha: 1.5 }, 'alpha'],
    ['a negative threshold', { tau: -1 }, 'tau'],
    ['a threshold beside a number', { tau: 0.1, top: 2 }, 'tau'],
    ['a statistic of nothing', { statistic: 'change' }, 'statistic'],
    ['another statistic', { statistic: 'norm' as 'change', top: 1 }, 'statistic'],
    ['more layers than there are', { top: 5 }, 'top'],
    ['half a layer', { top: 1.5 }, 'top'],
  ])('refuses %s', async (_, more, parameter) => {
    await expect(choose(writeExperts(moves), more)).rejects.toMatchObject({
      code: 'INVALID_PARAMETER',
      details: { parameter },
    });
  });

  it('refuses measurements that do not belong together, and what is none', async () => {
    const experts = writeExperts(moves);
    const files = await compare(experts);
    const other = await compare(writeExperts(moves));
    const unmoved = await compare(writeExperts({ task: moves.task, language: [0, 0, 0, 0] }));
    const text = readFileSync(files.task, 'utf8');
    const damaged = (change: (text: string) => string): string => {
      const file = join(temporaryDirectory(), 'damaged.json');
      writeFileSync(file, change(text));
      return file;
    };
    const out = join(experts.root, 'analysis');
    await analyze({ base: experts.base, experts: [experts.language] }, { out });
    const cases: [string, string, RegExp][] = [
      [files.task, other.language, /another base/],
      [files.task, join(out, 'language.json'), /one of analyze, the other of diff/],
      [unmoved.task, unmoved.language, /changed nothing/],
      [damaged(() => '{'), files.language, /is not JSON/],
      [damaged((all) => all.replace('"layers":4', '"layers":"4"')), files.language, /is not an analysis/],
      [damaged((all) => all.replace('"layers":4', '"layers":2')), files.language, /of layer 2, of 2 layers/],
      [damaged((all) => all.replaceAll('"differs"', '"otherShape"')), files.language, /does not compare/],
    ];
    for (const [task, language, message] of cases)
      await expect(chooseParts({ task, language })).rejects.toMatchObject({
        code: 'MEASUREMENT_INVALID',
        exitCode: 3,
        message: expect.stringMatching(message),
      });
    const none = join(experts.root, 'none.json');
    await expect(chooseParts({ task: none, language: files.language })).rejects.toMatchObject({
      code: 'READ_FAILED',
      message: `${none} cannot be read: no such file or directory`,
    });
  });
});
