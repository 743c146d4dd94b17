import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { Threads } from '../../src/core/engine/threads/threads.js';
import { analyze, extractLora, planMerge, runExperiment, soup } from '../../src/index.js';
import { fill, llama, type Tensors, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { decode, encode, type Floating } from '../fixtures/numbers.js';

// A wrong base makes wrong magnitude weights: signs of it give a warning, and a right base gives none.

vi.setConfig({ testTimeout: 180_000 });

const options = { layers: 5, hidden: 48, dtype: 'F32' } as const;

/** Weights plus noise of a share of their size. */
const moved = (tensors: Tensors, seed: number, share: number): Tensors => {
  const shapes = Object.fromEntries(Object.entries(tensors).map(([name, { shape }]) => [name, shape]));
  const noise = fill(shapes, 'F32', seed);
  return Object.fromEntries(
    Object.entries(tensors).map(([name, tensor]) => {
      const steps = decode('F32', noise[name]?.data ?? new Uint8Array());
      const values = decode(tensor.dtype as Floating, tensor.data).map(
        (value, index) => value + share * (steps[index] ?? 0),
      );
      return [name, { ...tensor, data: encode(tensor.dtype as Floating, values) }];
    }),
  );
};

const scaled = (tensors: Tensors, factor: number): Tensors =>
  Object.fromEntries(
    Object.entries(tensors).map(([name, tensor]) => [
      name,
      {
        ...tensor,
        data: encode(
          tensor.dtype as Floating,
          decode(tensor.dtype as Floating, tensor.data).map((value) => factor * value),
        ),
      },
    ]),
  );

const writeFamily = () => {
  const root = temporaryDirectory();
  const model = llama({ ...options, seed: 1 });
  const write = (name: string, tensors: Tensors) => writeCheckpoint(join(root, name), { ...model, tensors });
  const instructed = moved(model.tensors, 2, 0.2);
  const stranger = llama({ ...options, seed: 99 }).tensors;
  return {
    root,
    base: write('base', model.tensors),
    instructed: write('instructed', instructed),
    experts: [11, 12].map((seed) => write(`expert-${seed}`, moved(model.tensors, seed, 0.01))),
    later: [21, 22].map((seed) => write(`later-${seed}`, moved(instructed, seed, 0.01))),
    strangers: [1 / 16, 1, 16].map((factor, index) => write(`stranger-${index}`, scaled(stranger, factor))),
  };
};

const warningsOf = async (base: string, experts: readonly string[], rows?: 'input' | 'output') =>
  (
    await analyze(
      { base, experts: [...experts], ...(rows && { rows }) },
      { out: join(temporaryDirectory(), 'a') },
    )
  ).warnings;

it.each(['input', 'output'] as const)(
  'a base that experts come from is taken without a word, by %s rows',
  async (rows) => {
    const { base, instructed, experts, later } = writeFamily();
    expect(await warningsOf(base, experts, rows)).toEqual([]);
    expect(await warningsOf(instructed, later, rows)).toEqual([]);
    expect(await warningsOf(base, [...experts, instructed], rows)).toEqual([]);
  },
);

it('a base that has nothing in common with the experts is a warning of each, whatever its size', async () => {
  const { experts, strangers } = writeFamily();
  for (const stranger of strangers)
    expect(await warningsOf(stranger, experts)).toEqual(
      experts.map(() => expect.stringContaining('has nothing in common with stranger-') as string),
    );
});

it('a foreign expert among others is the one that is named', async () => {
  const { base, experts, strangers } = writeFamily();
  const warnings = await warningsOf(base, [...experts, strangers[1] ?? '']);
  expect(warnings).toEqual([
    expect.stringMatching(
      /^stranger-1 has nothing in common with base in 20 of 20 sampled matrices /,
    ) as string,
  ]);
});

it('a base from before a training that the experts share is a warning of the pair', async () => {
  const { base, experts, later } = writeFamily();
  const [expert = ''] = experts;
  expect(await warningsOf(base, [...later, expert])).toEqual([
    expect.stringMatching(
      /^later-21 and later-22 changed base in nearly the same way \(cosine 0\.9/,
    ) as string,
  ]);
});

it('magnitude weights of a merge have the same warnings, of its own experts alone', async () => {
  const { base, experts, later, strangers } = writeFamily();
  const warningsOfSoup = async (of: string, models: string[]) =>
    (await planMerge({ method: 'soup', base: of, models, weights: 'magnitude' })).warnings;
  expect(await warningsOfSoup(base, experts)).toEqual([]);
  expect(await warningsOfSoup(base, later)).toEqual([
    expect.stringContaining('later-21 and later-22') as string,
  ]);
  expect(await warningsOfSoup(strangers[1] ?? '', experts)).toHaveLength(2);
  const { warnings } = await soup(
    { models: later, base, weights: 'magnitude' },
    { out: join(temporaryDirectory(), 'out') },
  );
  expect(warnings).toEqual([expect.stringContaining('in nearly the same way') as string]);
});

/** A base with these tensors, and models that name it in a recipe. */
const warningsAmong = async (base: Tensors, models: readonly Tensors[], method = 'soup') => {
  const root = temporaryDirectory();
  const { config } = llama({ ...options, seed: 1 });
  const write = (name: string, tensors: Tensors) => writeCheckpoint(join(root, name), { config, tensors });
  const written = models.map((tensors, index) => write(`expert-${index}`, tensors));
  const at = write('other', base);
  return {
    at,
    written,
    warnings: (
      await planMerge({
        ...{ method, base: at, models: written },
        ...(method === 'soup' ? {} : { weight: 1 }),
        ...(method === 'ties' ? { density: 0.5 } : {}),
      } as Parameters<typeof planMerge>[0])
    ).warnings.filter((warning) => warning.includes('other')),
  };
};

const ours = llama({ ...options, seed: 1 }).tensors;
const foreign = llama({ ...options, seed: 99 }).tensors;
const isQuery = (name: string) => name.endsWith('q_proj.weight');

const mixed = (tensors: Tensors, others: Tensors, of: (name: string) => boolean): Tensors =>
  Object.fromEntries(
    Object.entries(tensors).map(([name, tensor]) => [name, of(name) ? (others[name] ?? tensor) : tensor]),
  );

const rounded = (tensors: Tensors): Tensors =>
  Object.fromEntries(
    Object.entries(tensors).map(([name, { shape, data }]) => [
      name,
      { dtype: 'BF16', shape, data: encode('BF16', decode('F32', data)) },
    ]),
  );

it('a comparison with the base starts no thread', async () => {
  const start = vi.spyOn(Threads, 'start');
  onTestFinished(() => start.mockRestore());
  const { warnings } = await warningsAmong(ours, [foreign], 'ties');
  expect(warnings).toHaveLength(1);
  expect(start).not.toHaveBeenCalled();
});

it.each(['soup', 'task_arithmetic', 'ties'])(
  'a merge by %s warns by each sign of a wrong base',
  async (method) => {
    const expert = moved(ours, 11, 0.01);
    const of = async (base: Tensors, models: readonly Tensors[]) =>
      (await warningsAmong(base, models, method)).warnings;
    expect(await of(ours, [expert])).toEqual([]);
    expect(await of(mixed(ours, foreign, isQuery), [expert])).toEqual([
      expect.stringMatching(
        /^expert-0 has nothing in common with other in 4 of \d+ sampled matrices/,
      ) as string,
    ]);
    expect(await of(scaled(ours, 1.5), [expert])).toEqual([
      expect.stringMatching(
        /^expert-0 is nearly a multiple of other \(cosine of change and weights -1\.00/,
      ) as string,
    ]);
    expect(await of(ours, [rounded(moved(ours, 11, 1e-5))])).toEqual([
      expect.stringMatching(/^9\d\.\d % of the change of expert-0 from other \(Σ Δ²\) is rounding/) as string,
    ]);
    // Two experts that trained the queries alone have the other matrices of their own base in common.
    const sibling = moved(ours, 2, 0.001);
    const queries = [11, 12].map((seed) => mixed(sibling, moved(sibling, seed, 0.3), isQuery));
    expect(await of(ours, queries)).toEqual([
      expect.stringMatching(/^expert-0 and expert-1 share changed matrices that other lacks/) as string,
    ]);
    expect(await of(sibling, queries)).toEqual([]);
  },
);

it('no merge is refused or changed by a wrong base, and none that starts from it is warned of', async () => {
  const { at, written, warnings } = await warningsAmong(foreign, [moved(ours, 11, 0.01)]);
  expect(warnings).toHaveLength(1);
  const [model = ''] = written;
  const slerp = await planMerge({ method: 'slerp', base: at, models: [model], t: 0.5 });
  expect(slerp.warnings).toEqual([]);
  const out = join(temporaryDirectory(), 'lora');
  const extracted = await extractLora({ base: at, expert: model, rank: 2 }, { out });
  expect(extracted.warnings).toContainEqual(expect.stringContaining('has nothing in common with other'));
  const experiment = {
    base: at,
    tasks: { math: model },
    languages: { swahili: { swh: model } },
    merges: [{ name: 'soup', method: 'soup' as const, weights: 'magnitude' as const }],
  };
  const batch = await runExperiment(experiment, { out: join(temporaryDirectory(), 'batch') });
  expect(batch.warnings).toContainEqual(expect.stringContaining('has nothing in common with other'));
});

it('no file of an analysis has the warnings, so that saved vectors read as before', async () => {
  const { root, experts, strangers } = writeFamily();
  const out = join(root, 'analysis');
  await analyze({ base: strangers[1] ?? '', experts }, { out });
  const names = readdirSync(out);
  expect(names).toEqual(expect.arrayContaining(['expert-11.json', 'expert-11.mav.safetensors']));
  expect(names.filter((name) => readFileSync(join(out, name)).includes('concerns'))).toEqual([]);
  const saved = await analyze(
    { from: ['expert-11', 'expert-12'].map((name) => join(out, `${name}.mav.safetensors`)) },
    { out: join(root, 'again') },
  );
  expect(saved.warnings).toEqual([expect.stringContaining('overlaps of experts are omitted') as string]);
});
