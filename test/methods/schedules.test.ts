import { readFileSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { scheduleWeights } from '../../src/core/methods/framework/declaration/schedules.js';
import { exportRecipe, merge, planMerge, type RecipeInput, soup } from '../../src/index.js';
import { lora, writeAdapter } from '../fixtures/adapters.js';
import { llamaShapes, type Tensors, temporaryDirectory } from '../fixtures/checkpoints.js';
import { average, readTensors } from '../fixtures/merged.js';
import type { Floating } from '../fixtures/numbers.js';
import { writeOthers, writeRun } from '../fixtures/runs.js';

const settings = { decay: 'linear', alpha: 0.2 } as const;
const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);

/** The learning rate after a share of its decay from a peak of 1, as in trainers' schedulers. */
const rates = {
  linear: (share: number) => 1 - share,
  cosine: (share: number) => 0.5 * (1 + Math.cos(Math.PI * share)),
  '1-sqrt': (share: number) => 1 - Math.sqrt(share),
} as const;
const decays = ['linear', 'cosine', '1-sqrt'] as const;

describe('weights of checkpoints', () => {
  it.each(decays)(
    'by wsm average to the model that a %s decay of the learning rate would have trained',
    (decay) => {
      // Equal steps between checkpoints: θₙ₊₁ = θₙ − gₙ at the peak, θₙ₊₁ = θₙ − f · gₙ in the decay.
      for (const count of [1, 2, 3, 7, 40]) {
        const steps = Array.from({ length: count - 1 }, (_, index) => Math.sin(index + 1) / (index + 2));
        const checkpoints = [0.5];
        for (const step of steps) checkpoints.push((checkpoints.at(-1) ?? 0) - step);
        const decayed = steps.reduce((at, step, index) => at - rates[decay]((index + 1) / count) * step, 0.5);
        const weights = scheduleWeights('wsm', count, { ...settings, decay });
        const merged = sum(weights.map((weight, index) => weight * (checkpoints[index] ?? 0)));
        expect(merged).toBeCloseTo(decayed, 12);
        expect(sum(weights)).toBeCloseTo(1, 12);
        expect(weights.every((weight) => weight > 0)).toBe(true);
      }
    },
  );

  it('by ema are those of the moving average that begins with the oldest', () => {
    const checkpoints = [3, -1, 4, 1, -5];
    const alpha = 0.3;
    const [first = 0, ...later] = checkpoints;
    const moving = later.reduce((at, next) => (1 - alpha) * at + alpha * next, first);
    const weights = scheduleWeights('ema', 5, { ...settings, alpha });
    expect(sum(weights.map((weight, index) => weight * (checkpoints[index] ?? 0)))).toBeCloseTo(moving, 12);
    expect(sum(weights)).toBeCloseTo(1, 12);
    expect(scheduleWeights('ema', 1, settings)).toEqual([1]);
  });

  it('are equal by uniform, and by wsm of a linear decay', () => {
    expect(scheduleWeights('uniform', 4, settings)).toEqual([0.25, 0.25, 0.25, 0.25]);
    expect(scheduleWeights('wsm', 4, settings)).toEqual([0.25, 0.25, 0.25, 0.25]);
  });
});

const steps = [100, 200, 900, 1000];

describe('a soup of a run', () => {
  const averaged = (chosen: readonly Tensors[], weights: readonly number[]) =>
    Object.fromEntries(
      Object.entries(chosen[0] ?? {}).map(([name, { dtype }]) => [
        name,
        Buffer.from(
          average(
            dtype as Floating,
            chosen.flatMap((one) => one[name] ?? []),
            weights,
          ),
        ),
      ]),
    );
  const bytesOf = async (directory: string) =>
    Object.fromEntries(Object.entries(await readTensors(directory)).map(([name, { data }]) => [name, data]));

  it('averages the last checkpoints by number with the weights of its schedule, and records them', async () => {
    const root = temporaryDirectory();
    const run = join(root, 'run');
    const { tensors } = writeRun(run, steps);
    writeOthers(run);
    const out = join(root, 'out');
    await soup({ models: [run], schedule: 'wsm', window: 3 }, { out });
    // 1 − √x at thirds.
    const weights = [0.57735026919, 0.2391463117, 0.1835034191];
    expect(await bytesOf(out)).toEqual(averaged(tensors.slice(1), weights));
    const { recipe, inputs } = JSON.parse(readFileSync(join(out, 'layerloom.json'), 'utf8'));
    expect(recipe).toMatchObject({ schedule: 'wsm', decay: '1-sqrt' });
    expect(recipe.schedule_weights.map((weight: number) => weight.toFixed(9))).toEqual(
      weights.map((weight) => weight.toFixed(9)),
    );
    expect(inputs.map(({ name }: { name: string }) => name)).toEqual([
      'checkpoint-200',
      'checkpoint-900',
      'checkpoint-1000',
    ]);
    expect(readFileSync(join(out, 'README.md'), 'utf8')).toContain('2507.17634');
    // The recorded recipe, with numeric weights, makes the same output again; mergekit's dialect supports
    // these weights.
    const repeated = join(root, 'repeated');
    await merge(join(out, 'layerloom.json'), { out: repeated });
    expect(await bytesOf(repeated)).toEqual(await bytesOf(out));
    const { text } = await exportRecipe(join(out, 'layerloom.json'));
    expect([...text.matchAll(/weight: ([\d.]+)/g)].map(([, weight]) => Number(weight).toFixed(9))).toEqual(
      weights.map((weight) => weight.toFixed(9)),
    );
    // So does the list of the checkpoints.
    const again = join(root, 'again');
    await soup(
      { models: steps.slice(1).map((step) => join(run, `checkpoint-${step}`)), schedule: 'wsm' },
      { out: again },
    );
    expect(await bytesOf(again)).toEqual(await bytesOf(out));
  });

  it('ends at a step, also within another recipe and of NAME=RUN', async () => {
    const root = temporaryDirectory();
    const run = join(root, 'run');
    const { tensors } = writeRun(run, steps);
    const out = join(root, 'out');
    const inner: RecipeInput = {
      method: 'soup',
      models: [`sft=${run}`],
      schedule: 'ema',
      until: 900,
      window: 2,
    };
    const recipe = { method: 'relayout', model: inner } as RecipeInput;
    const { inputs } = await planMerge(recipe);
    expect(inputs.map(({ name }) => name)).toEqual(['sft-200', 'sft-900']);
    await soup({ models: [run], schedule: 'ema', until: 900, window: 2 }, { out });
    expect(await bytesOf(out)).toEqual(averaged(tensors.slice(1, 3), [0.8, 0.2]));
  });

  it('of adapters is an adapter, and full weights on a base', async () => {
    const root = temporaryDirectory();
    const shapes = llamaShapes({ layers: 2 });
    const run = join(root, 'run');
    for (const step of [100, 200])
      writeAdapter(
        join(run, `checkpoint-${step}`),
        lora({ shapes, rank: 2, alpha: 4, targets: ['q_proj'], seed: step, dtype: 'F32' }),
      );
    const { tensors } = writeRun(join(root, 'base'), [1]);
    const bare = await planMerge({ method: 'soup', models: [run], schedule: 'uniform' });
    expect(bare.shards.flatMap((shard) => shard.tensors).every(({ name }) => name.includes('lora_'))).toBe(
      true,
    );
    const base = join(root, 'base/checkpoint-1');
    const whole = await planMerge({ method: 'soup', models: [`${base}+${run}`], schedule: 'uniform' });
    expect(
      whole.shards
        .flatMap((shard) => shard.tensors)
        .map(({ name }) => name)
        .sort(),
    ).toEqual(Object.keys(tensors[0] ?? {}).sort());
  });

  it.each<[string, Record<string, unknown>, string]>([
    ['a step that is not there', { until: 500 }, 'until: expected a step that'],
    ['more checkpoints than there are', { window: 5 }, 'window: expected at most 4'],
    ['more checkpoints than up to a step', { window: 3, until: 200 }, 'window: expected at most 2'],
    ['no checkpoint', { window: 0 }, 'window: expected 1 checkpoint or more'],
    ['a share that is none', { schedule: 'ema', alpha: 1 }, 'alpha: expected a number between 0 and 1'],
    ['a decay without wsm', { decay: 'cosine' }, 'decay: expected nothing, unless schedule is wsm'],
    ['a share without ema', { alpha: 0.5 }, 'alpha: expected nothing, unless schedule is ema'],
    ['weights beside it', { weights: [1] }, 'schedule: expected nothing beside weights'],
    ['a window without a schedule', { schedule: undefined, window: 2 }, 'window: expected nothing, unless'],
    ['an unknown schedule', { schedule: 'swa' }, 'schedule: expected uniform, ema, wsm'],
  ])('refuses %s', async (_, more, message) => {
    const run = join(temporaryDirectory(), 'run');
    writeRun(run, steps);
    const recipe = { method: 'soup', models: [run], schedule: 'uniform', ...more } as RecipeInput;
    await expect(planMerge(recipe)).rejects.toMatchObject({
      code: 'INVALID_PARAMETER',
      exitCode: 2,
      message: expect.stringContaining(message),
    });
  });

  it('refuses a window of models that are named, and a folder without checkpoints', async () => {
    const run = join(temporaryDirectory(), 'run');
    writeRun(run, steps);
    const named = [100, 200].map((step) => join(run, `checkpoint-${step}`));
    const of = (models: string[], more: object) =>
      planMerge({ method: 'soup', models, schedule: 'wsm', ...more });
    await expect(of(named, { window: 1 })).rejects.toMatchObject({ code: 'INVALID_PARAMETER' });
    await expect(of([join(run, 'checkpoint-100')], {})).rejects.toMatchObject({
      message: expect.stringContaining('the folder of a run, which holds checkpoint-N folders'),
    });
    await expect(of([join(run, 'nowhere')], {})).rejects.toMatchObject({ code: 'MODEL_NOT_FOUND' });
  });

  it('refuses a last checkpoint that is not saved yet, and says how to leave it out', async () => {
    const run = join(temporaryDirectory(), 'run');
    writeRun(run, steps);
    const weights = join(run, 'checkpoint-1000/model.safetensors');
    const recipe: RecipeInput = { method: 'soup', models: [run], schedule: 'uniform' };
    const refused = {
      code: 'RUN_UNFINISHED',
      exitCode: 3,
      message: expect.stringMatching(/checkpoint-1000, cannot be opened .* end before it with .*until.*900/),
    };
    truncateSync(weights, 5000);
    await expect(planMerge(recipe)).rejects.toMatchObject(refused);
    rmSync(weights);
    await expect(planMerge(recipe)).rejects.toMatchObject(refused);
    expect((await planMerge({ ...recipe, until: 900 })).inputs).toHaveLength(3);
  });
});
