import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { importResults, runExperiment } from '../../src/index.js';
import { lora, writeAdapter } from '../fixtures/adapters.js';
import { llama, llamaShapes, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { recordIn } from '../fixtures/experiment.js';

const task = 'mgsm_direct_sw';
const metric = 'exact_match,flexible-extract';
const seeds = { random_seed: 0, numpy_seed: 1234, torch_seed: 1234, fewshot_seed: 1234 };

/** An experiment of a base, an adapter on it and another model, and a folder of results of others. */
const made = async () => {
  const root = temporaryDirectory();
  const base = writeCheckpoint(join(root, 'base'), llama({ layers: 2 }));
  const adapter = writeAdapter(join(root, 'lora'), lora({ shapes: llamaShapes({ layers: 2 }) }));
  const other = writeCheckpoint(join(root, 'math', 'last'), llama({ layers: 2, seed: 5 }));
  const out = join(root, 'scores');
  const references = { base, lora: `${base}+${adapter}`, last: other };
  await runExperiment({ references, merges: [], evaluate: { tasks: { all: task } } }, { out });
  let written = 0;
  const result = (model_args: unknown, score: number, more: object = {}): void => {
    written += 1;
    const folder = join(root, 'from', String(written));
    mkdirSync(folder, { recursive: true });
    const whole = {
      results: { [task]: { alias: task, [metric]: score } },
      'n-samples': { [task]: { original: 250, effective: 250 } },
      config: { model: 'hf', model_args, limit: null, ...seeds },
      date: Date.now() / 1000 + 60 * written,
      ...more,
    };
    writeFileSync(join(folder, 'results_2026-01-01T00-00-00.000000.json'), JSON.stringify(whole));
  };
  const scores = async () => {
    const { failed } = await importResults(out, join(root, 'from'));
    const found = recordIn(out).references.map(
      ({
        name,
        scores: of,
      }: {
        name: string;
        scores?: Record<string, { metrics: Record<string, number> }>;
      }) => [name, of?.[task]?.metrics[metric]],
    );
    return { scores: Object.fromEntries(found), failed: failed.map(({ message }) => message) };
  };
  return { root, base, adapter, other, result, scores };
};

describe('an imported result belongs to the weights that the harness loaded', () => {
  it.each([
    ['peft', (base: string, adapter: string) => ({ pretrained: base, peft: adapter })],
    ['peft in a text', (base: string, adapter: string) => `peft=${adapter},pretrained=${base},dtype=float32`],
    ['lora_local_path', (base: string, adapter: string) => ({ pretrained: base, lora_local_path: adapter })],
    ['moved paths', () => 'pretrained=/far/base,peft=/far/lora'],
  ])('those of an adapter by %s, and not its base', async (_, args) => {
    const { base, adapter, result, scores } = await made();
    result(args(base, adapter), 0.75);
    expect(await scores()).toEqual({ scores: { base: undefined, lora: 0.75, last: undefined }, failed: [] });
  });

  it.each([
    ['delta', /has no model .*base delta=\/delta/],
    ['subfolder', /base subfolder=\/delta/],
    ['revision', /base revision=\/delta/],
    ['gguf_file', /base gguf_file=\/delta/],
    ['peft', /base\+\/delta/],
  ])('none of the experiment, if %s names others', async (key, message) => {
    const { base, result, scores } = await made();
    result({ pretrained: base, [key]: '/delta' }, 0.75);
    const { scores: found, failed } = await scores();
    expect(Object.values(found)).toEqual([undefined, undefined, undefined]);
    expect(failed).toEqual([expect.stringMatching(message)]);
  });

  it('takes defaults for what they are', async () => {
    const { base, result, scores } = await made();
    result({ pretrained: base, revision: 'main', subfolder: '', peft: null, delta: 'None' }, 0.75);
    expect((await scores()).scores).toMatchObject({ base: 0.75 });
  });

  it('none, if no path is told', async () => {
    const { base, result, scores } = await made();
    result({ dtype: 'float32' }, 0.75);
    const before = process.cwd();
    process.chdir(base);
    const { scores: found, failed } = await scores();
    process.chdir(before);
    expect([found['base'], failed.length]).toEqual([undefined, 1]);
  });
});

describe('of models that share the name of a folder', () => {
  it('the one of the longest common end is taken', async () => {
    const { result, scores } = await made();
    result('pretrained=/far/math/last', 0.75);
    result('pretrained=/far/swahili/last', 0.5);
    const { scores: found, failed } = await scores();
    expect(found).toMatchObject({ last: 0.75 });
    expect(failed).toEqual([
      expect.stringMatching(/its model \/far\/swahili\/last may be last, but so may \/far\/math\/last/),
    ]);
  });

  it('the one at the path itself is taken', async () => {
    const { other, result, scores } = await made();
    result({ pretrained: other }, 0.75);
    result('pretrained=/far/math/last', 0.5);
    const { scores: found, failed } = await scores();
    expect([found['last'], failed.length]).toEqual([0.75, 1]);
  });

  it('none is taken, if nothing tells them apart', async () => {
    const { other, result, scores } = await made();
    expect(basename(other)).toBe('last');
    result('pretrained=/far/german/last', 0.75);
    result('pretrained=/far/swahili/last', 0.5);
    const { scores: found, failed } = await scores();
    expect([found['last'], failed.length]).toEqual([undefined, 2]);
  });
});

it('refuses samples that were cut at the end of a line', async () => {
  const { base, result, scores } = await made();
  result({ pretrained: base }, 0.5, { results: { [task]: { [metric]: 0.5, sample_len: 2 } } });
  const folder = join(base, '..', 'from', '1');
  const sample = {
    ...{ doc_id: 0, doc: { question: 'q' }, target: '1', doc_hash: 'd', prompt_hash: 'p', target_hash: 't' },
    ...{ filter: 'flexible-extract', metrics: ['exact_match'], exact_match: 1 },
  };
  const file = join(folder, `samples_${task}_2026-01-01T00-00-00.000000.jsonl`);
  writeFileSync(file, `${JSON.stringify(sample)}\n`);
  const { scores: found, failed } = await scores();
  expect(found).toMatchObject({ base: undefined });
  expect(failed).toEqual([expect.stringMatching(/scored 2 problems of .*, but its samples have 1/)]);
  writeFileSync(
    file,
    `${JSON.stringify(sample)}\n${JSON.stringify({ ...sample, doc_id: 1, exact_match: 0 })}\n`,
  );
  expect((await scores()).scores).toMatchObject({ base: 0.5 });
});
