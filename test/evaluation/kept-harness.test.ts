import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { pythonOfHarness } from '../../src/core/programs/python-of-harness.js';
import { evaluateExperiment, runExperiment } from '../../src/index.js';
import { tensorsThatDiffer, WeightsToLoad } from '../../src/study/evaluation/servers/weights-to-load.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { standIn, stubHarness } from '../fixtures/evaluation-errors.js';
import { writeExperiment } from '../fixtures/experiment.js';
import { hashOfModel } from '../fixtures/held.js';

vi.setConfig({ testTimeout: 180_000 });

const lmEval = standIn;

const merges = `
  - {name: default, method: layer_swap, bottom: 2, top: 1}
  - {name: soup, method: soup}
`;

const made = async (more: object = {}) => {
  const { file, out } = writeExperiment(merges, { layers: 4 });
  const evaluate = { tasks: { swahili: ['mgsm_direct_sw'], english: 'mgsm_direct_en' }, fewshot: 8, ...more };
  writeFileSync(file, `\nevaluate: ${JSON.stringify(evaluate)}\n`, { flag: 'a' });
  await runExperiment(file, { out });
  return out;
};

const scoresIn = (out: string) => {
  const record = JSON.parse(readFileSync(join(out, 'experiment.json'), 'utf8')) as Record<
    'merges' | 'references',
    { name: string; scores?: Record<string, { metrics: unknown; n: number }> }[]
  >;
  return [...record.references, ...record.merges].map(({ name, scores = {} }) => [
    name,
    Object.entries(scores).map(([task, { metrics, n }]) => ({ task, metrics, n })),
  ]);
};

const heldIn = (log: string) =>
  (existsSync(log) ? readFileSync(log, 'utf8').split('\n').filter(Boolean) : []).map((line) => {
    const [, model = '', hash = '', bytes = ''] = /^(.*) (\w+) (\d+)$/.exec(line) ?? [];
    return { model, hash, bytes: Number(bytes) };
  });

let held = '';
beforeEach(() => {
  held = join(temporaryDirectory(), 'held');
  vi.stubEnv('STUB_HELD', held);
});
afterEach(() => {
  vi.unstubAllEnvs();
});

describe('a process of the harness for all models', () => {
  it('gives the scores of a process for each, and loads only the tensors that differ', async () => {
    const [kept, separate] = [await made(), await made()];
    const outcome = await evaluateExperiment(kept, { lmEval });
    await evaluateExperiment(separate, { lmEval: stubHarness });
    // The stand-in's answers depend on a model's path within its experiment.
    const names = (out: string) =>
      scoresIn(out).map(([name, scores]) => [name, (scores as unknown[]).length]);
    expect(names(kept)).toEqual(names(separate));
    expect(outcome.failed).toEqual([]);
    const runs = heldIn(held);
    expect(runs).toHaveLength(outcome.scored.length);
    for (const { model, hash } of runs) expect(hash, model).toBe(await hashOfModel(model));
    expect(outcome.weights.loaded).toBe(runs.reduce((sum, { bytes }) => sum + bytes, 0));
    expect(outcome.weights.loaded).toBeLessThan(0.99 * outcome.weights.ofModels);
  });

  it('says of every element what it is, where that is asked for', async () => {
    const outcome = await evaluateExperiment(await made({ fingerprint: 'whole' }), { lmEval });
    expect(outcome.failed).toEqual([]);
    expect(heldIn(held)).toHaveLength(outcome.scored.length);
  });

  it('is not used where a process for each model is asked for', async () => {
    const out = await made();
    const outcome = await evaluateExperiment(out, { lmEval, separate: true });
    expect([outcome.failed, heldIn(held), outcome.weights]).toEqual([[], [], { loaded: 0, ofModels: 0 }]);
  });

  it.each([
    ['0.4.11', 'TaskManager.load of tasks/manager.py'],
    ['0.5.0', undefined],
  ])('gives way to a process for each model in lm_eval %s', async (version, lacks) => {
    vi.stubEnv('STUB_VERSION', version);
    if (lacks !== undefined) vi.stubEnv('STUB_LACKS', lacks);
    const outcome = await evaluateExperiment(await made(), { lmEval });
    expect([outcome.failed, heldIn(held)]).toEqual([[], []]);
    expect(outcome.warnings.join()).toContain(version);
  });

  it('is of another 0.4 too that has what is used, with a warning', async () => {
    vi.stubEnv('STUB_VERSION', '0.4.12');
    const outcome = await evaluateExperiment(await made(), { lmEval });
    expect(outcome.failed).toEqual([]);
    expect(heldIn(held)).toHaveLength(outcome.scored.length);
    expect(outcome.warnings.join()).toContain('lm_eval 0.4.12 was used');
  });

  it('refuses by its version a harness without a command line of runs', async () => {
    vi.stubEnv('STUB_VERSION', '0.4.8');
    vi.stubEnv('STUB_LACKS', 'lm_eval run --config');
    const reason = 'it is lm_eval 0.4.8, and lacks lm_eval run --config';
    await expect(evaluateExperiment(await made(), { lmEval })).rejects.toThrow(reason);
  });

  it('costs one model its scores if it fails with that one', async () => {
    vi.stubEnv('STUB_CRASH', 'math-1+swh-1/soup');
    const outcome = await evaluateExperiment(await made(), { lmEval });
    expect(new Set(outcome.failed.map(({ model, code }) => `${model} ${code}`))).toEqual(
      new Set(['swahili/math-1+swh-1/soup HARNESS_FAILED']),
    );
    for (const { model, hash } of heldIn(held)) expect(hash, model).toBe(await hashOfModel(model));
  });

  it.each([1, 2])('answers nothing with weights that are not the model’s (seed %i)', async (seed) => {
    vi.stubEnv('STUB_FAULTS', String(seed));
    const out = await made();
    const outcome = await evaluateExperiment(out, { lmEval });
    const runs = heldIn(held);
    for (const { model, hash } of runs) expect(hash, model).toBe(await hashOfModel(model));
    for (const { code } of outcome.failed) expect(['WEIGHTS_DIFFER', 'HARNESS_FAILED']).toContain(code);
    expect(outcome.scored.length + new Set(outcome.failed.map(({ model }) => model)).size).toBe(9 + 4);
  });
});

describe('the tensors of models', () => {
  it('differ where a program holds other bytes, or says nothing of them', async () => {
    const model = writeCheckpoint(join(temporaryDirectory(), 'model'), llama({ layers: 2 }));
    const weights = (await new WeightsToLoad().of(model)) ?? [];
    const whole = Object.fromEntries(weights.map(({ name, key }) => [name, { whole: key }]));
    expect(await tensorsThatDiffer(weights, whole, 'samples')).toEqual([]);
    const [first, second] = weights.map(({ name }) => name) as [string, string];
    const { [first]: _, ...without } = whole;
    expect(await tensorsThatDiffer(weights, without, 'samples')).toEqual([first]);
    expect(
      await tensorsThatDiffer(weights, { ...whole, [second]: { samples: '0'.repeat(64) } }, 'samples'),
    ).toEqual([second]);
    expect(await tensorsThatDiffer(weights, JSON.parse('{"__proto__": {}}'), 'samples')).toHaveLength(
      weights.length,
    );
  });

  it('name a file that is gone', async () => {
    const model = writeCheckpoint(join(temporaryDirectory(), 'model'), llama({ layers: 2 }));
    const weights = (await new WeightsToLoad().of(model)) ?? [];
    const [{ file, name } = { file: '', name: '' }] = weights;
    rmSync(file);
    const gone = { code: 'READ_FAILED', details: { file } };
    await expect(tensorsThatDiffer(weights, { [name]: { samples: '' } }, 'samples')).rejects.toMatchObject(
      gone,
    );
    await expect(new WeightsToLoad().at(weights)).rejects.toMatchObject(gone);
  });
});

describe('the Python of a harness', () => {
  const script = (text: string): string => {
    const folder = temporaryDirectory();
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'lm_eval'), text);
    chmodSync(join(folder, 'lm_eval'), 0o755);
    return folder;
  };

  it.each([
    ['python -m lm_eval', 'python'],
    ['/venv/bin/python3.11 -m lm_eval', '/venv/bin/python3.11'],
    ['uv run lm_eval', 'uv run python'],
    ['uvx --from lm-eval[hf]==0.4.13 lm_eval', undefined],
    ['uv run --no-sync python -m lm_eval', 'uv run --no-sync python'],
    ['docker run image lm_eval', undefined],
    ['accelerate launch -m lm_eval', undefined],
    ['torchrun python -m lm_eval', undefined],
    ['lm_eval --verbose', undefined],
    ['lm_eval; rm -r x', undefined],
    ['$HOME/lm_eval', undefined],
  ])('of %s is %s', async (command, python) => {
    expect(await pythonOfHarness(command, '/nowhere')).toBe(python);
  });

  it('stands in the first line of its script', async () => {
    const [direct, long, env, node] = [
      script('#!/venv/bin/python3\nimport sys\n'),
      script("#!/bin/sh\n'''exec' \"/a long path/bin/python3\" \"$0\" \"$@\"\n' '''\n"),
      script('#!/usr/bin/env python3\n'),
      script('#!/usr/bin/env node\n'),
    ];
    expect(await pythonOfHarness('lm_eval', `/nowhere:${direct}`)).toBe('/venv/bin/python3');
    expect(await pythonOfHarness(`${direct}/lm_eval`, '')).toBe('/venv/bin/python3');
    expect(await pythonOfHarness('lm_eval', long)).toBe("'/a long path/bin/python3'");
    expect(await pythonOfHarness('lm_eval', env)).toBe('python3');
    expect(await pythonOfHarness('lm_eval', node)).toBeUndefined();
    expect(await pythonOfHarness('lm_eval', '/nowhere')).toBeUndefined();
  });
});
