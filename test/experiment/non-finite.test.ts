import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { runExperiment } from '../../src/index.js';
import type { BatchMerge } from '../../src/study/batch/planning/batch-merge.js';
import { type BatchResult, runBatch } from '../../src/study/batch/run-batch.js';
import { llama, type Tensors, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { experimentText } from '../fixtures/experiment.js';
import { poisoned } from '../fixtures/poison.js';

vi.setConfig({ testTimeout: 180_000 });

const tensor = 'model.layers.2.mlp.down_proj.weight';

const poisonedPair = () => {
  const root = temporaryDirectory();
  const { tensors, config } = llama({ layers: 4, seed: 1 });
  const task = writeCheckpoint(join(root, 'math-1'), {
    tensors: poisoned(tensors as Tensors, tensor, 45, Number.NaN),
    config,
  });
  const language = writeCheckpoint(join(root, 'swh-1'), llama({ layers: 4, seed: 2 }));
  const merges = (allowNonFinite?: boolean): BatchMerge[] => [
    { name: 'soup', recipe: { method: 'soup', models: [task, language], allowNonFinite } },
    { name: 'swap', recipe: { method: 'layer_swap', task, language, bottom: 1, top: 1 } },
  ];
  return { root, task, language, merges, out: join(root, 'out') };
};

const statesOf = ({ merges }: BatchResult) =>
  Object.fromEntries(merges.map(({ name, state, error }) => [name, error?.code ?? state]));

const recordsIn = (store: string): { path: string; record: Record<string, unknown> }[] =>
  readdirSync(join(store, 'shards'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.json'))
    .map((name) => join(store, 'shards', name))
    .map((path) => ({ path, record: JSON.parse(readFileSync(path, 'utf8')) }));

it('a merge of a batch that computes with a NaN fails alone, and its shard is not kept', async () => {
  const { merges, out, task } = poisonedPair();
  const result = await runBatch(merges(), { out });
  expect(statesOf(result)).toEqual({ soup: 'NON_FINITE', swap: 'done' });
  expect(result.merges[0]?.error?.message).toContain(
    `${tensor}[1, 5] of ${join(task, 'model.safetensors')} (NaN)`,
  );
  expect(existsSync(join(out, 'soup'))).toBe(false);
  expect(recordsIn(join(out, '.store')).every(({ record }) => record['nonFinite'] === null)).toBe(true);
});

it('a stored shard says whether it has such values, and merges without the flag do not take it', async () => {
  const { merges, root, out, task } = poisonedPair();
  const store = join(root, 'store');
  expect(statesOf(await runBatch(merges(true), { out, store }))).toEqual({ soup: 'done', swap: 'done' });
  const found = recordsIn(store).flatMap(({ record }) => record['nonFinite'] ?? []);
  expect(found).toEqual([{ tensor, index: [1, 5], is: 'NaN', file: join(task, 'model.safetensors') }]);
  const again = { out: join(root, 'again'), store };
  expect(statesOf(await runBatch(merges(), again))).toEqual({ soup: 'NON_FINITE', swap: 'done' });
  expect(statesOf(await runBatch(merges(true), again))).toEqual({ soup: 'done', swap: 'done' });
});

it('a merge fails for a NaN that it computes with, whatever is computed beside it', async () => {
  const { merges, root, out, task, language } = poisonedPair();
  const base = writeCheckpoint(join(root, 'base'), llama({ layers: 4, seed: 3 }));
  const ties = { method: 'ties', base, models: [task, language], weight: 1, density: 0.5 } as const;
  // A trimmed NaN is in no result; only the average of the same files reports it.
  const beside = [...merges(), { name: 'ties', recipe: ties }];
  const refused = { soup: 'NON_FINITE', swap: 'done', ties: 'NON_FINITE' };
  expect(statesOf(await runBatch(beside, { out }))).toEqual(refused);
  const alone = beside.slice(-1);
  expect(statesOf(await runBatch(alone, { out: join(root, 'alone') }))).toEqual({ ties: 'NON_FINITE' });
});

it('of two merges of one shard that which asks for it has it', async () => {
  const { merges, out } = poisonedPair();
  const [soup] = merges(true);
  const [other] = merges();
  const both = [soup, { ...other, name: 'strict' }] as BatchMerge[];
  expect(statesOf(await runBatch(both, { out }))).toEqual({ soup: 'done', strict: 'NON_FINITE' });
});

it('a shard of an earlier version is looked at once, where it was computed', async () => {
  const { merges, root, out } = poisonedPair();
  const store = join(root, 'store');
  await runBatch(merges(true), { out, store });
  for (const { path, record } of recordsIn(store)) {
    const { nonFinite: _, ...earlier } = record;
    chmodSync(path, 0o644);
    writeFileSync(path, JSON.stringify(earlier));
  }
  expect(statesOf(await runBatch(merges(), { out: join(root, 'again'), store }))).toEqual({
    soup: 'NON_FINITE',
    swap: 'done',
  });
  const found = recordsIn(store).map(({ record }) => record['nonFinite']);
  expect(found.flatMap((value) => value ?? [])).toEqual([{ tensor, index: [1, 5], is: 'NaN' }]);
});

it('an experiment allows it for all its merges, or for one', async () => {
  const { root } = poisonedPair();
  writeCheckpoint(join(root, 'base'), llama({ layers: 4, seed: 3 }));
  const run = async (text: string, name: string, allowNonFinite?: boolean) => {
    const file = join(root, `${name}.yaml`);
    const pair = experimentText(text).replace(', math-2: ./math-2', '').replace(', swh-2: ./swh-2', '');
    writeFileSync(file, pair);
    const { merges } = await runExperiment(file, { out: join(root, name), allowNonFinite });
    return merges.map(({ error, state }) => error?.code ?? state);
  };
  const entries = '  - {name: soup, method: soup}\n  - {name: other, method: soup, weights: [[1, 2]]}\n';
  expect(await run(entries, 'refused')).toEqual(['NON_FINITE', 'NON_FINITE']);
  expect(await run(entries, 'option', true)).toEqual(['done', 'done']);
  expect(await run(`${entries}allow_non_finite: true\n`, 'all')).toEqual(['done', 'done']);
  const one = entries.replace('method: soup}', 'method: soup, allow_non_finite: true}');
  expect(await run(one, 'one')).toEqual(['done', 'NON_FINITE']);
});
