import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { evaluateExperiment, runExperiment, searchExperiment } from '../../src/index.js';
import {
  type LlamaOptions,
  llama,
  type Tensors,
  temporaryDirectory,
  writeCheckpoint,
} from '../fixtures/checkpoints.js';
import { cli, finished, startCli } from '../fixtures/cli.js';
import { standIn, standInServer } from '../fixtures/evaluation-errors.js';
import { type ExperimentFixture, recordIn, someMerges, writeExperiment } from '../fixtures/experiment.js';
import { hashOfModel } from '../fixtures/held.js';
import { fusedMixture, mixtureConfig } from '../fixtures/mixtures.js';
import { overwrite } from '../fixtures/overwrite.js';
import { poisoned } from '../fixtures/poison.js';

vi.setConfig({ testTimeout: 180_000 });

const lmEval = standIn;

const experimentOf = (
  merges: string,
  more: object = {},
  options: LlamaOptions = { layers: 5 },
): ExperimentFixture => {
  const made = writeExperiment(merges, options);
  const evaluate = { tasks: { swahili: 'mgsm_direct_sw' }, fewshot: 8, ...more };
  writeFileSync(made.file, `\nevaluate: ${JSON.stringify(evaluate)}\n`, { flag: 'a' });
  return made;
};

const heldIn = (log: string): Map<string, string> =>
  new Map(
    (existsSync(log) ? readFileSync(log, 'utf8').split('\n').filter(Boolean) : []).flatMap((line) => {
      const [, name = '', hash = ''] = /(swahili\/.*) (\w+) \d+$/.exec(line) ?? [];
      return name === '' ? [] : [[name, hash] as const];
    }),
  );

const scratches = (out: string, pid = process.pid): string[] =>
  ['/dev/shm', out].filter(existsSync).flatMap((directory) =>
    readdirSync(directory)
      .filter((name) => name.startsWith('.layerloom-scratch-'))
      .filter((name) => {
        const owner = join(directory, name, 'owner.json');
        return (
          directory === out || (existsSync(owner) && JSON.parse(readFileSync(owner, 'utf8')).pid === pid)
        );
      }),
  );

let held = '';
beforeEach(() => {
  held = join(temporaryDirectory(), 'held');
  vi.stubEnv('STUB_HELD', held);
});
afterEach(() => {
  vi.unstubAllEnvs();
});

const stateOf = (out: string, name: string) =>
  recordIn(out).merges.find((merge: { name: string }) => merge.name === name);

describe('merges in place', () => {
  it('are scored with the weights of the written merges, and share their results', async () => {
    const { file, out, root } = experimentOf(someMerges);
    await runExperiment(file, { out, write: [] });
    const outcome = await evaluateExperiment(out, { lmEval, inPlace: true });
    expect([outcome.failed, outcome.missing, outcome.warnings]).toEqual([[], [], []]);
    expect(outcome.inPlace?.merges).toBe(25);
    expect(outcome.inPlace?.bytes).toBeGreaterThan(0);
    expect(readdirSync(join(out, '.store', 'shards'))).toEqual([]);
    expect(existsSync(join(out, 'swahili'))).toBe(false);
    expect(scratches(out)).toEqual([]);

    const written = join(root, 'written');
    const { experiment } = await runExperiment(file, { out: written });
    const answered = heldIn(held);
    expect(answered.size).toBe(new Set(experiment.merges.map(({ weights }) => weights)).size);
    for (const { name, weights, path } of experiment.merges) {
      expect(stateOf(out, name)).toMatchObject({ state: 'pending', weights });
      expect(stateOf(out, name).scores.mgsm_direct_sw.n).toBeGreaterThan(0);
      // Merges of equal weights are scored once.
      if (answered.has(name)) expect(answered.get(name), name).toBe(await hashOfModel(join(written, path)));
    }

    const chosen = 'swahili/math-1+swh-1/default';
    const { merges } = await runExperiment(file, { out, resume: true, write: [chosen] });
    expect(merges).toMatchObject([{ name: chosen, state: 'done' }]);
    expect(stateOf(out, chosen).state).toBe('done');
    expect(await hashOfModel(join(out, chosen))).toBe(await hashOfModel(join(written, chosen)));
    const scored = recordIn(out).merges.filter((merge: { scores?: object }) => merge.scores !== undefined);
    expect(scored).toHaveLength(25);
    const again = await evaluateExperiment(out, { lmEval, only: [chosen] });
    expect([again.scored, again.kept]).toEqual([[], [chosen]]);
  });

  it.each([
    ['another layout', someMerges, { layout: 'size' as const }],
    [
      'norms and embeddings apart',
      '\n  - {name: norms, method: layer_swap, bottom: 2, top: 1, norms: average, others: task}\n',
      {},
    ],
    ['no model of their dtype', '\n  - {name: wide, method: soup, dtype: float32}\n', {}],
  ])('have the weights of the written ones with %s', async (_, merges, options) => {
    const { file, out, root } = experimentOf(merges);
    await runExperiment(file, { out, write: [], ...options });
    const outcome = await evaluateExperiment(out, { lmEval, inPlace: true });
    expect(outcome.failed).toEqual([]);
    const written = join(root, 'written');
    const { experiment } = await runExperiment(file, { out: written, ...options });
    for (const { name, weights } of experiment.merges) expect(stateOf(out, name)).toMatchObject({ weights });
    const answered = heldIn(held);
    expect(answered.size).toBeGreaterThan(0);
    for (const [name, hash] of answered) expect(hash, name).toBe(await hashOfModel(join(written, name)));
    expect(outcome.warnings).toHaveLength(merges.includes('float32') ? 1 : 0);
  });

  it('have the weights of the written ones where experts of mixtures are fused', async () => {
    const { file, out, root } = experimentOf(
      '\n  - {name: soup, method: soup}\n  - {name: swap, method: layer_swap, bottom: 1, top: 0}\n',
    );
    for (const [index, name] of ['base', 'math-1', 'math-2', 'swh-1', 'swh-2'].entries()) {
      rmSync(join(root, name), { recursive: true });
      const of = { dtype: 'BF16', seed: index + 1 } as const;
      writeCheckpoint(join(root, name), { tensors: fusedMixture(of), config: mixtureConfig(of) });
    }
    await runExperiment(file, { out, write: [] });
    const outcome = await evaluateExperiment(out, { lmEval, inPlace: true });
    expect([outcome.failed, outcome.warnings]).toEqual([[], []]);
    const written = join(root, 'written');
    const { experiment } = await runExperiment(file, { out: written });
    for (const { name, weights } of experiment.merges) expect(stateOf(out, name)).toMatchObject({ weights });
    const answered = heldIn(held);
    expect(answered.size).toBe(8);
    for (const [name, hash] of answered) expect(hash, name).toBe(await hashOfModel(join(written, name)));
  });

  it.each([1, 2, 3])('answer nothing with weights that are not theirs (seed %i)', async (seed) => {
    vi.stubEnv('STUB_FAULTS', String(seed));
    const { file, out, root } = experimentOf(someMerges);
    await runExperiment(file, { out, write: [] });
    const outcome = await evaluateExperiment(out, { lmEval, inPlace: true });
    for (const { code } of outcome.failed) expect(['WEIGHTS_DIFFER', 'HARNESS_FAILED']).toContain(code);
    const written = join(root, 'written');
    await runExperiment(file, { out: written });
    for (const [name, hash] of heldIn(held)) expect(hash, name).toBe(await hashOfModel(join(written, name)));
  });

  it.each([
    [{ separate: true }, {}, /`separate`/],
    [{}, { backend: 'vllm' }, /backend: vllm/],
    [{}, { backend: 'local-completions', base_url: 'http://127.0.0.1:9/v1' }, /server/],
    [{ lmEval: 'no-such-harness' }, {}, /cannot be run/],
  ])('are refused before anything runs (%j, %j)', async (options, evaluate, message) => {
    const { file, out } = experimentOf('\n  - {name: soup, method: soup}\n', evaluate);
    await runExperiment(file, { out, write: [] });
    await expect(evaluateExperiment(out, { lmEval, inPlace: true, ...options })).rejects.toThrow(message);
    expect(scratches(out)).toEqual([]);
  });

  it('are refused where a process cannot be kept', async () => {
    vi.stubEnv('STUB_VERSION', '0.4.11');
    vi.stubEnv('STUB_LACKS', 'TaskManager.load of tasks/manager.py');
    const { file, out } = experimentOf('\n  - {name: soup, method: soup}\n');
    await runExperiment(file, { out, write: [] });
    const evaluated = evaluateExperiment(out, { lmEval, inPlace: true, only: ['swahili/*'] });
    await expect(evaluated).rejects.toMatchObject({ code: 'IN_PLACE_REFUSED' });
    expect(scratches(out)).toEqual([]);
  });

  it('fail once a model is written that they are made from, and are refused from then on', async () => {
    const { file, out, root } = experimentOf(
      '\n  - {name: grid, method: layer_swap, bottom: [1, 2], top: 1}\n',
    );
    await runExperiment(file, { out, write: [] });
    const expert = join(root, 'swh-1', 'model.safetensors');
    let isWritten = false;
    const outcome = await evaluateExperiment(out, {
      lmEval,
      inPlace: true,
      only: ['*swh-1/*'],
      onScored: () => {
        if (!isWritten) overwrite(expert);
        isWritten = true;
      },
    });
    expect(outcome.scored).toHaveLength(1);
    expect(new Set(outcome.failed.map(({ code }) => code))).toEqual(new Set(['INPUT_CHANGED']));
    await expect(evaluateExperiment(out, { lmEval, inPlace: true })).rejects.toThrow(/have changed since/);
  });

  it('fail alone if they compute with a NaN', async () => {
    const { file, out, root } = experimentOf(
      '\n  - {name: default, method: layer_swap, bottom: 2, top: 1}\n  - {name: soup, method: soup}\n',
    );
    const { tensors, config } = llama({ layers: 5, seed: 2 });
    const name = 'model.layers.2.mlp.down_proj.weight';
    const poisonedTensors = poisoned(tensors as Tensors, name, 45, Number.NaN);
    writeCheckpoint(join(root, 'math-1'), { tensors: poisonedTensors, config });
    const written = join(root, 'written');
    const { merges } = await runExperiment(file, { out: written });
    await runExperiment(file, { out, write: [] });
    const outcome = await evaluateExperiment(out, { lmEval, inPlace: true, only: ['swahili/*'] });
    const failed = merges.flatMap(({ name: of, error }) =>
      error === undefined ? [] : [`${of} ${error.code}`],
    );
    expect(failed.length).toBeGreaterThan(0);
    expect(failed.length).toBeLessThan(merges.length);
    expect(outcome.failed.map(({ model, code }) => `${model} ${code}`).sort()).toEqual(failed.sort());
  });

  it('are what is lacking beside merges that are written', async () => {
    const { file, out } = experimentOf(someMerges);
    await runExperiment(file, { out, write: ['*/default'] });
    const outcome = await evaluateExperiment(out, { lmEval, inPlace: true });
    expect([outcome.failed, outcome.missing, outcome.inPlace?.merges]).toEqual([[], [], 21]);
    const without = await evaluateExperiment(out, { lmEval, force: true, only: ['swahili/*'] });
    expect([without.scored.length, without.missing.length, without.inPlace]).toEqual([4, 21, null]);
  });

  it('are searched, and those of the choice are written', async () => {
    const { file, out, root } = experimentOf(
      '\n  - {name: default, method: layer_swap, bottom: 2, top: 1}\n  - {name: grid, method: layer_swap, bottom: [1, 2], top: [0, 1]}\n',
    );
    writeFileSync(file, `\nsearch: {problems: 20, hold_out: 5, budget: 100%}\n`, { flag: 'a' });
    const options = { out, lmEval, pairs: ['math-1+swh-1'], inPlace: true };
    const found = await searchExperiment(file, options);
    const written = recordIn(out).merges.filter(({ state }: { state: string }) => state === 'done');
    const names = written.map(({ name }: { name: string }) => name);
    expect(names).toEqual(expect.arrayContaining([...found.merges]));
    expect(recordIn(out).merges.length).toBeGreaterThan(names.length);
    expect(statSync(join(out, found.merges[0] ?? '', 'layerloom.json')).isFile()).toBe(true);
    expect(await searchExperiment(file, { ...options, resume: true })).toEqual(found);
    expect(existsSync(join(root, 'out', '.store'))).toBe(true);
    expect(scratches(out)).toEqual([]);
  });

  it('are taken by a server that exchanges weights', async () => {
    const served = { backend: 'local-completions', serve: standInServer(), exchange: 'vllm' };
    const { file, out } = experimentOf(someMerges, served);
    await runExperiment(file, { out, write: [] });
    const outcome = await evaluateExperiment(out, { lmEval, inPlace: true, only: ['swahili/math-1*'] });
    expect([outcome.failed, outcome.missing, outcome.inPlace?.merges]).toEqual([[], [], 12]);
    expect(outcome.weights.loaded).toBeGreaterThan(0);
    expect(outcome.weights.loaded).toBeLessThan(outcome.weights.ofModels);
    expect(existsSync(join(out, 'swahili'))).toBe(false);
  });

  it.each([
    ['a process of the harness', {}],
    ['a server', { backend: 'local-completions', serve: standInServer('sglang'), exchange: 'sglang' }],
  ])('fail where an expert is removed while %s holds others, which go on', async (_, more) => {
    const { file, out, root } = experimentOf(
      '\n  - {name: swap, method: layer_swap, bottom: [1, 2], top: 1}\n',
      more,
    );
    await runExperiment(file, { out, write: [] });
    const gone = join(root, 'math-2', 'model.safetensors');
    const outcome = await evaluateExperiment(out, {
      ...{ lmEval, inPlace: true, only: ['swahili/*'] },
      onScored: () => {
        if (existsSync(gone)) rmSync(gone);
      },
    });
    expect(outcome.failed.length).toBeGreaterThan(0);
    for (const { model, code, message } of outcome.failed)
      expect([model, code, message]).toEqual([
        expect.stringMatching(/math-2/),
        'READ_FAILED',
        expect.stringContaining(gone),
      ]);
    expect(outcome.scored.filter((name) => name.includes('math-1'))).toHaveLength(4);
  });

  it('are scored on by the same command after SIGKILL, which leaves nothing', async () => {
    const { file, out } = experimentOf(someMerges);
    await runExperiment(file, { out, write: [] });
    const words = ['evaluate', out, '--in-place', '--lm-eval', lmEval, '--json', '--only', 'swahili/*'];
    const child = startCli(words);
    child.stdout.on('data', (text: Buffer) => {
      if (text.toString().includes('"event":"model"')) child.kill('SIGKILL');
    });
    expect((await finished(child)).code).toBe(null);
    const left = [...scratches(out, child.pid)];
    expect(left).toHaveLength(1);
    const { code, stdout } = await finished(startCli(words));
    const done = JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
    expect([code, done.failed, done.missing]).toEqual([0, [], []]);
    expect(done.kept.length).toBeGreaterThan(0);
    expect(done.scored.length).toBeGreaterThan(0);
    expect(scratches(out, child.pid)).toEqual([]);
  });

  it('are recorded, scored and written by the commands that are printed', async () => {
    const { file, out, root } = experimentOf(
      '\n  - {name: grid, method: layer_swap, bottom: [1, 2], top: 1}\n',
    );
    const run = async (...words: string[]) => {
      const result = await cli(words);
      expect([words[0], result.code]).toEqual([words[0], 0]);
      return `${result.stdout}${result.stderr}`;
    };
    expect(await run('batch', file, '--in-place', '--dry-run')).toMatch(
      /not written +8 merges; .*instead of/,
    );
    const recorded = await run('batch', file, '-o', out, '--in-place');
    expect(recorded).toMatch(/8 merges recorded, none written/);
    expect(recorded).toContain(`layerloom evaluate ${out} --in-place`);
    const harness = ['--lm-eval', lmEval];
    expect(await run('evaluate', out, '--in-place', '--dry-run', ...harness)).toMatch(/not written 8 merges/);
    const scored = await run('evaluate', out, '--in-place', ...harness);
    expect(scored).toContain(`layerloom batch EXPERIMENT.yaml -o ${out} --resume --write NAME`);
    expect(await run('evaluate', out, '--in-place', '--dry-run', ...harness)).toMatch(/^0 models to score/m);

    const [chosen] = recordIn(out).merges;
    expect(await run('batch', file, '-o', out, '--resume', '--write', chosen.name)).toMatch(
      /1 of 1 merges, .*\n.*7 merges recorded, not written/,
    );
    expect(stateOf(out, chosen.name)).toMatchObject({ state: 'done', scores: chosen.scores });
    expect((await cli(['batch', file, '-o', out, '--resume', '--write', 'none'])).code).toBe(2);

    // With changed experts no record holds until it is recorded again.
    overwrite(join(root, 'swh-2', 'model.safetensors'));
    const refused = await cli(['evaluate', out, '--in-place', ...harness]);
    expect(refused.code).toBe(3);
    expect(refused.stderr).toContain(`layerloom batch EXPERIMENT.yaml -o ${out} --resume --in-place`);
    await run('batch', file, '-o', out, '--resume', '--in-place');
    await run('evaluate', out, '--in-place', ...harness);
    expect(stateOf(out, chosen.name).state).toBe('done');
  });

  it.each([
    ['batch', '--in-place', '--write', '*'],
    ['evaluate', '--in-place', '--print'],
  ])('are no merges for %s %s %s', async (...words) => {
    const { file, out } = experimentOf('\n  - {name: soup, method: soup}\n');
    await runExperiment(file, { out, write: [] });
    const [command = '', ...options] = words;
    expect((await cli([command, command === 'batch' ? file : out, ...options])).code).toBe(2);
  });
});
