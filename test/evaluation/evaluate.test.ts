import { randomUUID } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { evaluateExperiment, evaluationCommands, importResults, runExperiment } from '../../src/index.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { finished, startCli } from '../fixtures/cli.js';
import { stubHarness } from '../fixtures/evaluation-errors.js';
import { writeExperiment } from '../fixtures/experiment.js';

vi.setConfig({ testTimeout: 180_000 });

const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url));
const lmEval = stubHarness;

/** Two merges a pair; the second has the first's weights under another name. */
const merges = `
  - {name: default, method: layer_swap, bottom: 2, top: 1}
  - {name: same, method: layer_swap, bottom: 2, top: 1}
`;

const settings = {
  tasks: { swahili: ['mgsm_direct_sw', 'stub_perplexity'], english: 'mgsm_direct_en' },
  fewshot: 8,
};

const made = async (evaluate: object = settings, more: string = merges) => {
  const { root, file, out } = writeExperiment(more, { layers: 4 });
  writeFileSync(file, `${readFileSync(file, 'utf8')}\nevaluate: ${JSON.stringify(evaluate)}\n`);
  await runExperiment(file, { out });
  return { root, file, out };
};

const recordIn = (out: string) =>
  JSON.parse(readFileSync(join(out, 'experiment.json'), 'utf8')) as {
    merges: Entry[];
    references: Entry[];
  };

interface Entry {
  name: string;
  scores?: Record<
    string,
    { metrics: Record<string, number>; n: number; result: string; rows: number[] | null }
  >;
  scoreErrors?: Record<string, { code: string; message: string }>;
}

const scoresIn = (out: string) =>
  Object.fromEntries(
    [...recordIn(out).references, ...recordIn(out).merges].map(({ name, scores = {} }) => [
      name,
      Object.keys(scores),
    ]),
  );

const runningServer = async () => {
  const models = new Set<string>();
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    models.add(JSON.parse(body).model);
    response.end(JSON.stringify({ choices: [{ text: '1' }] }));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, models };
};

const asked = (log: string): string[] =>
  existsSync(log) ? readFileSync(log, 'utf8').split('\n').filter(Boolean) : [];

const env = (name: string, value: string) => vi.stubEnv(name, value);

let log = '';
beforeEach(() => {
  log = join(temporaryDirectory(), 'log');
  env('STUB_LOG', log);
});
afterEach(() => {
  vi.unstubAllEnvs();
});

describe('evaluating an experiment', () => {
  it('scores references and merges, those of equal weights once, with the figures of the harness', async () => {
    const { out } = await made();
    const outcome = await evaluateExperiment(out, { lmEval });
    expect(outcome.failed).toEqual([]);
    expect(outcome.scored).toHaveLength(5 + 4);
    expect(outcome.kept).toHaveLength(4);
    expect(new Set(asked(log)).size).toBe(asked(log).length);
    const { merges: entries, references } = recordIn(out);
    expect(references.map(({ scores }) => Object.keys(scores ?? {}).sort())).toEqual(
      references.map(() => ['mgsm_direct_en', 'mgsm_direct_sw', 'stub_perplexity']),
    );
    for (const { name, scores = {} } of [...entries, ...references])
      for (const [task, score] of Object.entries(scores)) {
        const result = JSON.parse(readFileSync(join(out, score.result), 'utf8'));
        const problems = JSON.parse(
          readFileSync(join(out, score.result.replace('.json', '.problems.json')), 'utf8'),
        ) as { scores: Record<string, number | [number, number]> }[];
        expect(score.metrics, name).toEqual(result.metrics);
        expect(score.n).toBe(problems.length);
        if (task === 'stub_perplexity') {
          const pairs = problems.map(({ scores: of }) => of['byte_perplexity,none'] as [number, number]);
          const sum = (at: 0 | 1) => pairs.reduce((total, pair) => total + pair[at], 0);
          expect(result.metrics['byte_perplexity,none']).toBeCloseTo(Math.exp(-sum(0) / sum(1)), 10);
        } else {
          const right = problems.filter(({ scores: of }) => of['exact_match,flexible-extract'] === 1).length;
          expect(result.metrics['exact_match,flexible-extract']).toBe(right / problems.length);
        }
      }
    const byName = Object.fromEntries(entries.map((entry) => [entry.name, entry.scores]));
    expect(byName['swahili/math-1+swh-1/same']).toEqual(byName['swahili/math-1+swh-1/default']);
    expect(byName['swahili/math-1+swh-1/same']).not.toEqual(byName['swahili/math-1+swh-2/same']);
    expect(readdirSync(join(out, 'evaluations', '.runs'))).toEqual([]);
    expect(readdirSync(join(out, 'evaluations')).filter((name) => name.startsWith('.tasks'))).toEqual([]);
  });

  it('runs nothing again that has a result, but what another limit or an override asks for', async () => {
    const { out } = await made();
    await evaluateExperiment(out, { lmEval, only: ['base'] });
    const once = asked(log).length;
    expect((await evaluateExperiment(out, { lmEval, only: ['base'] })).kept).toEqual(['base']);
    expect(asked(log)).toHaveLength(once);
    await evaluateExperiment(out, { lmEval, only: ['base'], limit: 5 });
    expect(asked(log).length).toBeGreaterThan(once);
    const { scores = {} } = recordIn(out).references.find(({ name }) => name === 'base') ?? {};
    // The experiment asks for all rows: only these count as its scores.
    expect(scores['mgsm_direct_sw']).toMatchObject({ n: 20, rows: null });
    const limited = asked(log).length;
    await evaluateExperiment(out, { lmEval, only: ['base'], force: true });
    expect(asked(log).length).toBeGreaterThan(limited);
  });

  it('scores tasks that take no worked examples, whatever number all tasks are given', async () => {
    const tasks = { swahili: ['mgsm_direct_sw', 'layerloom_mgsm_ppl_sw', 'stub_zero_shot'] };
    const { out } = await made({ tasks, fewshot: 8 });
    const first = await evaluateExperiment(out, { lmEval, only: ['base'] });
    expect(scoresIn(out)['base']?.sort()).toEqual(['layerloom_mgsm_ppl_sw', 'mgsm_direct_sw']);
    expect(first.failed.map(({ message }) => message)).toEqual([
      expect.stringMatching(/used 0 worked examples for stub_zero_shot.* write fewshot: {stub_zero_shot: 0}/),
    ]);
    const { out: other } = await made({ tasks, fewshot: { mgsm_direct_sw: 8, stub_zero_shot: 0 } });
    await evaluateExperiment(other, { lmEval, only: ['base'] });
    expect((await evaluateExperiment(other, { lmEval, only: ['base'] })).kept).toEqual(['base']);
  });

  it('asks once for a data set that cannot be reached, and names it once', async () => {
    const { out } = await made();
    env('STUB_NO_DATA', 'mgsm_direct_en');
    const impossible: string[] = [];
    const only = ['base', 'math-1', 'swh-1'];
    const outcome = await evaluateExperiment(out, {
      ...{ lmEval, only },
      onImpossible: (task) => impossible.push(task),
    });
    expect(outcome.failed).toEqual([
      {
        model: 'mgsm_direct_en',
        code: 'HARNESS_FAILED',
        message: expect.stringMatching(
          /its data set juletxara\/mgsm is not on this machine.*name local data/,
        ),
      },
    ]);
    expect(impossible).toEqual(['mgsm_direct_en']);
    expect(scoresIn(out)['math-1']?.sort()).toEqual(['mgsm_direct_sw', 'stub_perplexity']);
    vi.unstubAllEnvs();
    expect((await evaluateExperiment(out, { lmEval, only })).failed).toEqual([]);
    expect(scoresIn(out)['swh-1']).toHaveLength(3);
  });

  it('gives no score of former weights to a merge that was made anew', async () => {
    const { root, file, out } = await made();
    await evaluateExperiment(out, { lmEval, only: ['*math-1+swh-1/default', '*math-2*/default'] });
    writeCheckpoint(join(root, 'math-1'), llama({ layers: 4, seed: 99 }));
    await runExperiment(file, { out, resume: true });
    const scores = scoresIn(out);
    expect(scores['swahili/math-1+swh-1/default']).toEqual([]);
    expect(scores['swahili/math-2+swh-1/default']).toHaveLength(3);
  });

  it('scores merges whose record does not say their weights, and keeps the scores of a reference that is gone', async () => {
    const { root, file, out } = await made();
    const record = recordIn(out) as { merges: (Entry & { weights?: string })[] };
    for (const merge of record.merges) delete merge.weights;
    writeFileSync(join(out, 'experiment.json'), JSON.stringify(record));
    await evaluateExperiment(out, { lmEval, only: ['swh-2', '*/default'] });
    expect(scoresIn(out)['swahili/math-1+swh-1/default']).toHaveLength(3);
    rmSync(join(root, 'base'), { recursive: true });
    await evaluateExperiment(out, { lmEval, only: ['math-1'] });
    rmSync(join(root, 'swh-2'), { recursive: true });
    writeFileSync(
      file,
      readFileSync(file, 'utf8').replace('base: ./base\n', '').replace(', swh-2: ./swh-2', '') +
        'references: {swh-2: {model: ./swh-2, role: former}}\n',
    );
    await runExperiment(file, { out, resume: true });
    expect(scoresIn(out)['swh-2']).toHaveLength(3);
  });

  it('records a model that crashes, one that hangs and one whose results are half-written, and scores the others', async () => {
    const { out } = await made({ ...settings, timeout: 6 });
    env('STUB_CRASH', '/math-1+swh-1/');
    env('STUB_HANG', '/math-1+swh-2/');
    env('STUB_HALF', '/math-2+swh-1/');
    const outcome = await evaluateExperiment(out, { lmEval, only: ['*/default', 'base'] });
    expect(outcome.scored).toEqual(['base', 'swahili/math-2+swh-2/default']);
    expect(new Set(outcome.failed.map(({ model, code }) => `${model} ${code}`))).toEqual(
      new Set([
        'swahili/math-1+swh-1/default HARNESS_FAILED',
        'swahili/math-1+swh-2/default HARNESS_TIMEOUT',
        'swahili/math-2+swh-1/default RESULTS_INVALID',
      ]),
    );
    const failed = recordIn(out).merges.find(({ name }) => name === 'swahili/math-1+swh-1/default');
    expect(failed?.scoreErrors?.['mgsm_direct_sw']?.message).toMatch(
      /exit code 1: RuntimeError: CUDA error: out of memory/,
    );
    vi.unstubAllEnvs();
    expect((await evaluateExperiment(out, { lmEval, only: ['*/default', 'base'] })).failed).toEqual([]);
    expect(recordIn(out).merges.filter(({ scoreErrors }) => scoreErrors !== undefined)).toEqual([]);
  });

  it('keeps the results of a task where another task of the model fails', async () => {
    const { out } = await made();
    env('STUB_CRASH_TASK', '/base');
    env('STUB_TASK', 'mgsm_direct_en');
    const outcome = await evaluateExperiment(out, { lmEval, only: ['base'] });
    expect(outcome.failed).toHaveLength(1);
    expect(scoresIn(out)['base']?.sort()).toEqual(['mgsm_direct_sw', 'stub_perplexity']);
  });

  it('scores merges while a batch makes them, and by two evaluators at once, and loses nothing', async () => {
    const { root, file, out } = await made(settings, '\n  - {name: first, method: soup}\n');
    writeFileSync(
      file,
      readFileSync(file, 'utf8').replace(
        '  - {name: first',
        `${merges}  - {name: ties, method: ties}\n  - {name: first`,
      ),
    );
    env('STUB_SECONDS', '0.3');
    const batch = startCli(['batch', file, '-o', out, '--resume']);
    const evaluators = [0, 1].map(() =>
      startCli(['evaluate', out, '--lm-eval', lmEval, '--jobs', '2', '--json']),
    );
    const [, ...ends] = await Promise.all([finished(batch), ...evaluators.map(finished)]);
    expect(ends.map(({ code, stderr }) => [code, stderr])).toEqual([
      [0, ''],
      [0, ''],
    ]);
    await evaluateExperiment(out, { lmEval });
    const record = recordIn(out);
    expect(record.merges).toHaveLength(4 * 4);
    for (const { name, scores } of [...record.merges, ...record.references])
      expect(Object.keys(scores ?? {}), name).toHaveLength(3);
    expect(new Set(asked(log)).size).toBe(asked(log).length);
    expect(existsSync(join(root, 'out', '.experiment.claim'))).toBe(false);
  });

  it('scores the first merges of a batch before it has written a byte of the next stage', async () => {
    const { file, out } = writeExperiment(
      `  - {name: soup, method: soup}\n  - {name: default, method: layer_swap, bottom: 2, top: 1}\nevaluate: ${JSON.stringify(settings)}\n`,
      { layers: 4 },
    );
    const shards = () =>
      readdirSync(join(out, '.store', 'shards'), { recursive: true }).filter((name) =>
        String(name).endsWith('.safetensors'),
      ).length;
    let evaluation: ReturnType<typeof evaluateExperiment> | undefined;
    const settled: string[] = [];
    let scoredAt = 0;
    const { cost } = await runExperiment(file, {
      out,
      // The stage ends when its merges are settled: the last merge waits for the others' scores.
      onMerge: async ({ name }) => {
        if (!name.endsWith('/default')) return;
        settled.push(name);
        evaluation ??= evaluateExperiment(out, { lmEval });
        if (settled.length < 4) return;
        const areScored = () =>
          settled.slice(0, 3).forEach((each) => {
            expect(scoresIn(out)[each], each).toHaveLength(3);
          });
        await vi.waitFor(areScored, { timeout: 25_000, interval: 100 });
        expect(existsSync(join(out, name.replace(/default$/, 'soup')))).toBe(false);
        scoredAt = shards();
      },
    });
    expect(scoredAt).toBeGreaterThan(0);
    expect(scoredAt).toBeLessThan(cost.shards);
    expect((await evaluation)?.failed).toEqual([]);
    for (const [name, tasks] of Object.entries(scoresIn(out))) expect(tasks, name).toHaveLength(3);
  });

  it('ends with 130 when interrupted, keeps what is done, and ends the harness', async () => {
    const { out } = await made();
    env('STUB_HANG', '/math-1+swh-1/');
    const child = startCli([
      'evaluate',
      out,
      '--lm-eval',
      lmEval,
      '--resume',
      '--only',
      'base',
      '--only',
      '*math-1+swh-1/default',
    ]);
    const end = finished(child);
    await vi.waitFor(() => expect(asked(log).some((model) => model.includes('math-1+swh-1'))).toBe(true), {
      timeout: 60_000,
    });
    child.kill('SIGINT');
    expect(await end).toMatchObject({
      code: 130,
      stderr: expect.stringMatching(
        /interrupted; finished scores are in .*out, .* are kept, and --resume continues from them/,
      ),
    });
    expect(scoresIn(out)['base']).toHaveLength(3);
    // The next run uses the interrupted run's answers.
    expect(readdirSync(join(out, 'evaluations', '.runs'))).toHaveLength(1);
    vi.unstubAllEnvs();
    await evaluateExperiment(out, { lmEval, resume: true, only: ['*math-1+swh-1/default'] });
    expect(readdirSync(join(out, 'evaluations', '.runs'))).toEqual([]);
  });

  it('removes what evaluations that died left, and nothing of those that live', async () => {
    const { out } = await made();
    const only = ['*math-1+swh-1/default'];
    const folder = join(out, 'evaluations');
    const names = (of: string) => readdirSync(join(folder, of)).filter((name) => name !== 'clock');
    env('STUB_HANG', '/math-1+swh-1/');
    const atWork = startCli(['evaluate', out, '--lm-eval', lmEval, '--only', ...only]);
    onTestFinished(() => void atWork.kill('SIGINT'));
    const end = finished(atWork);
    vi.unstubAllEnvs();
    await vi.waitFor(() => expect(asked(log)).not.toEqual([]), { timeout: 60_000 });
    const claims = names('.claims');
    expect(claims).toHaveLength(2);
    // The folder exists only if the harness lacks some task.
    const [tasks = ''] = claims.filter((name) => name.startsWith('.tasks-'));
    mkdirSync(join(folder, tasks));
    const [answers = ''] = names('.runs');
    expect(answers).not.toBe('');
    // Another evaluation while that one works.
    await evaluateExperiment(out, { lmEval, only: ['base'] });
    expect(names('.')).toContain(tasks);
    expect(names('.claims')).toEqual(claims);
    const copy = join(out, 'copy');
    cpSync(folder, copy, { recursive: true });
    atWork.kill('SIGINT');
    await end;
    // As if killed, which would leave the harness running too.
    rmSync(folder, { recursive: true });
    cpSync(copy, folder, { recursive: true });
    const [old, young] = ['old', 'young'].map((name) => `.${name}.json.${randomUUID()}`);
    for (const name of [old, young]) writeFileSync(join(folder, `${name}`), '{');
    utimesSync(join(folder, `${old}`), new Date(0), new Date(0));
    await evaluateExperiment(out, { lmEval, only: ['base'] });
    expect(names('.').filter((name) => name.startsWith('.tasks-'))).toEqual([]);
    expect(names('.claims')).toEqual([]);
    // Half-written results have no claim, so their age decides.
    expect(names('.').filter((name) => /json\../.test(name))).toEqual([young]);
    // The answers serve the next evaluation of these weights; after the last result nobody needs them.
    expect(names('.runs')).toEqual([answers]);
    await evaluateExperiment(out, { lmEval, only });
    expect(names('.runs')).toEqual([]);
    cpSync(join(copy, '.runs'), join(folder, '.runs'), { recursive: true });
    expect((await evaluateExperiment(out, { lmEval, only, limit: 1 })).results.made).toBeGreaterThan(0);
    expect(names('.runs')).toEqual([answers]);
    // Answers newer than the results belong to a repeated evaluation, which may be resumed.
    expect((await evaluateExperiment(out, { lmEval, only })).results.made).toBe(0);
    expect(names('.runs')).toEqual([answers]);
    // On coarse clocks, answers may be as old as their result.
    const results = names('.').filter((name) => /^\w.*\.json$/.test(name));
    for (const name of [
      ...results,
      ...names(join('.runs', answers)).map((one) => join('.runs', answers, one)),
    ])
      utimesSync(join(folder, name), new Date(0), new Date(0));
    expect((await evaluateExperiment(out, { lmEval, only })).results.made).toBe(0);
    expect(names('.runs')).toEqual([]);
    expect(names('.claims')).toEqual([]);
  });

  it('fails where results cannot be read, and does not record that there are none', async () => {
    const { out } = await made();
    const of = { lmEval, only: ['base'] };
    await evaluateExperiment(out, of);
    const record = readFileSync(join(out, 'experiment.json'));
    const folder = join(out, 'evaluations');
    const [result = ''] = readdirSync(folder).filter((name) => /-[0-9a-f]{16}\.json$/.test(name));
    // A name that the system does not follow, like another user's file.
    rmSync(join(folder, result));
    symlinkSync(result, join(folder, result));
    await expect(evaluateExperiment(out, of)).rejects.toMatchObject({
      code: 'READ_FAILED',
      details: { file: join(folder, result) },
    });
    expect(readFileSync(join(out, 'experiment.json'))).toEqual(record);
  });

  it('keeps failures of other settings, and follows no link in place of the clock', async () => {
    const { out } = await made();
    const of = { lmEval, only: ['base'] };
    await evaluateExperiment(out, { ...of, limit: 1 });
    env('STUB_CRASH', 'base');
    await evaluateExperiment(out, of);
    vi.stubEnv('STUB_CRASH', undefined);
    const errors = () => recordIn(out).references.find(({ name }) => name === 'base')?.scoreErrors;
    const failed = errors();
    expect(failed).toHaveProperty('mgsm_direct_en');
    // An unreadable claim in a folder from another user: only its age tells whether its process lives.
    const claims = join(out, 'evaluations', '.claims');
    const others = join(temporaryDirectory(), 'file of the user');
    writeFileSync(others, 'text');
    rmSync(join(claims, 'clock'), { force: true });
    symlinkSync(others, join(claims, 'clock'));
    writeFileSync(join(claims, 'unread'), '');
    // As notebooks leave it behind.
    mkdirSync(join(out, 'evaluations', 'failures', '.ipynb_checkpoints'));
    expect((await evaluateExperiment(out, { ...of, limit: 1 })).results.made).toBe(0);
    expect(errors()).toEqual(failed);
    expect(readFileSync(others, 'utf8')).toBe('text');
  });

  it('scores the others where the record of a merge cannot be read', async () => {
    const { out } = await made();
    const [{ path, name }] = recordIn(out).merges as [Entry & { path: string }];
    const record = join(out, path, 'layerloom.json');
    rmSync(record);
    mkdirSync(record);
    const { scored, failed } = await evaluateExperiment(out, { lmEval, only: [name, 'base'] });
    expect(scored).toContain('base');
    expect(new Set(failed.map(({ model, code }) => `${model}: ${code}`))).toEqual(
      new Set([`${name}: READ_FAILED`]),
    );
    // Records of earlier versions lack the weights of merges; these are then read from that record.
    const experiment = JSON.parse(readFileSync(join(out, 'experiment.json'), 'utf8'));
    for (const merge of experiment.merges) delete merge.weights;
    const scoreErrors = { kept: { code: 'READ_FAILED', message: 'kept' } };
    experiment.merges[0].scoreErrors = scoreErrors;
    writeFileSync(join(out, 'experiment.json'), JSON.stringify(experiment));
    expect((await evaluateExperiment(out, { lmEval, only: ['base'] })).kept).toEqual(['base']);
    expect(recordIn(out).merges[0]?.scoreErrors).toEqual(scoreErrors);
  });

  it('leaves no task files where the harness is absent', async () => {
    const { out } = await made();
    await expect(evaluateExperiment(out, { lmEval: '/nowhere/lm_eval' })).rejects.toMatchObject({
      code: 'HARNESS_MISSING',
    });
    expect(readdirSync(join(out, 'evaluations')).filter((name) => name.startsWith('.tasks-'))).toEqual([]);
  });

  it('names the nearest task, an absent harness, and warns of another version', async () => {
    const { out } = await made({ tasks: { swahili: ['mgsm_direct_sv', 'mgsm_direct_sw'] } });
    const { scored, failed } = await evaluateExperiment(out, { lmEval, only: ['base'] });
    expect(scored).toEqual(['base']);
    expect(failed.map(({ message }) => message).join()).toMatch(
      /no task mgsm_direct_sv; did you mean mgsm_direct_sw\?/,
    );
    await expect(evaluateExperiment(out, { lmEval: 'no-such-harness' })).rejects.toThrow(
      /pip install "lm-eval/,
    );
    const other = await made();
    env('STUB_VERSION', '0.5.0');
    const { warnings } = await evaluateExperiment(other.out, { lmEval, only: ['base'] });
    expect(warnings).toEqual([expect.stringMatching(/^lm_eval 0\.5\.0 was used/)]);
  });

  it('refuses what is no experiment, and one that says nothing of evaluation', async () => {
    await expect(evaluateExperiment(temporaryDirectory(), { lmEval })).rejects.toThrow(/layerloom batch/);
    const { root, file, out } = writeExperiment(merges, { layers: 4 });
    await runExperiment(file, { out });
    await expect(evaluateExperiment(out, { lmEval })).rejects.toThrow(/has no evaluate: block/);
    expect(existsSync(join(root, 'out', 'evaluations'))).toBe(false);
  });

  it('refuses to score no problem, or no model at once', async () => {
    const { out } = await made();
    for (const option of [{ limit: 0 }, { limit: 1.5 }, { jobs: 0 }])
      await expect(evaluateExperiment(out, { lmEval, ...option })).rejects.toThrow(
        /^(limit|jobs): expected a whole number, 1 or more, got/,
      );
    expect(asked(log)).toEqual([]);
  });

  it('divides models into parts', async () => {
    const { out } = await made();
    const parts = [];
    for (const index of [0, 1, 2])
      parts.push(await evaluateExperiment(out, { lmEval, part: { index, count: 3 } }));
    expect(parts.flatMap(({ scored, kept }) => [...scored, ...kept])).toHaveLength(13);
    for (const names of Object.values(scoresIn(out))) expect(names).toHaveLength(3);
  });

  it('takes results that were made elsewhere, and says which it does not take', async () => {
    const { root, out } = await made();
    const commands = await evaluationCommands(out, { lmEval, only: ['base', '*math-1+swh-1/default'] });
    expect(commands).toHaveLength(2);
    const runs = join(out, 'evaluations', 'runs');
    for (const { command } of commands) {
      const { execSync } = await import('node:child_process');
      execSync(command);
    }
    const elsewhere = join(root, 'elsewhere');
    cpSync(runs, elsewhere, { recursive: true });
    rmSync(runs, { recursive: true });
    writeFileSync(join(elsewhere, 'results_half.json'), '{"results": {');
    const outcome = await importResults(out, elsewhere);
    expect(outcome.imported).toHaveLength(6);
    expect(outcome.failed).toEqual([expect.objectContaining({ code: 'RESULTS_INVALID' })]);
    const before = asked(log).length;
    expect(
      (await evaluateExperiment(out, { lmEval, only: ['base', '*math-1+swh-1/default'] })).kept,
    ).toHaveLength(2);
    expect(asked(log)).toHaveLength(before);

    // The merge was made again since: the results belong to other weights.
    rmSync(join(out, 'evaluations'), { recursive: true });
    const later = new Date(Date.now() + 60_000);
    utimesSync(join(out, 'swahili/math-1+swh-1/default/layerloom.json'), later, later);
    const second = await importResults(out, elsewhere);
    expect(second.imported.map(({ model }) => model)).toEqual(['base', 'base', 'base']);
    expect(second.failed.map(({ message }) => message).join()).toMatch(
      /it has other weights: it was made on/,
    );
  });

  describe('with a server', () => {
    const serve = `${process.execPath} ${fixture('completions-server.mjs')} {port} {model}`;
    const served = { ...settings, backend: 'local-completions', serve, serve_timeout: 3 };

    it('starts one for each checkpoint, asks it, and ends it', async () => {
      const { out } = await made(served);
      const outcome = await evaluateExperiment(out, { lmEval, only: ['base', '*math-1+swh-1/default'] });
      expect(outcome.failed).toEqual([]);
      // The server answers every second row right.
      const { scores = {} } = recordIn(out).merges[0] ?? {};
      expect(scores['mgsm_direct_sw']?.metrics['exact_match,flexible-extract']).toBe(0.5);
      const { execSync } = await import('node:child_process');
      expect(execSync('ps -eo args').toString()).not.toContain(join(out, 'swahili'));
    });

    it('takes any answer but a failure as a sign of life: a server may ask for a key, or list no models', async () => {
      env('STUB_SERVER', 'locked');
      const { out } = await made(served);
      expect((await evaluateExperiment(out, { lmEval, only: ['base'] })).failed).toEqual([]);
    });

    it('prints the commands: that of the server, and those of the harness that ask it', async () => {
      const { out } = await made(served);
      const [server, ...runs] = await evaluationCommands(out, { lmEval, only: ['base'] });
      expect(server?.command).toMatch(/completions-server\.mjs 8000 .*base$/);
      expect(runs).toHaveLength(1);
      const config = JSON.parse(readFileSync(runs[0]?.command.split(' ').at(-1) ?? '', 'utf8'));
      expect(config.model_args.base_url).toBe('http://127.0.0.1:8000/v1/completions');
    });

    it('runs no command of a folder that was moved here, or whose commands were changed, unless allowed', async () => {
      const { root, out } = await made(served);
      const moved = join(root, 'moved');
      cpSync(out, moved, { recursive: true });
      await expect(evaluateExperiment(moved, { lmEval, only: ['base'] })).rejects.toMatchObject({
        code: 'SERVE_NOT_ALLOWED',
        message: expect.stringMatching(/completions-server.*`allowServe`/),
      });
      const allowed = await evaluateExperiment(moved, { lmEval, only: ['base'], allowServe: true });
      expect([allowed.scored, allowed.failed]).toEqual([['base'], []]);
      const record = join(out, 'experiment.json');
      const changed = { ...JSON.parse(readFileSync(record, 'utf8')) };
      for (const more of [
        { serve: `touch stolen; ${serve}` },
        { arguments: ['--include_path', '.'] },
        { model_args: { trust_remote_code: true } },
      ]) {
        writeFileSync(record, JSON.stringify({ ...changed, evaluate: { ...served, ...more } }));
        await expect(evaluateExperiment(out, { lmEval })).rejects.toMatchObject({
          code: 'SERVE_NOT_ALLOWED',
        });
      }
    });

    it('asks for no flag where a folder has no commands', async () => {
      const { root, out } = await made({ ...settings, model_args: { dtype: 'bfloat16' } });
      const moved = join(root, 'moved');
      cpSync(out, moved, { recursive: true });
      expect((await evaluateExperiment(moved, { lmEval, only: ['base'] })).scored).toEqual(['base']);
    });

    it('divides models among servers that run, a job each, of which each answers for any model', async () => {
      const servers = await Promise.all(Array.from({ length: 2 }, runningServer));
      const base_url = servers.map(({ url }) => url);
      const { out } = await made({ ...settings, backend: 'local-completions', base_url });
      let most = 0;
      const { failed, scored } = await evaluateExperiment(out, {
        lmEval,
        onProgress: ({ running }) => {
          most = Math.max(most, running.length);
        },
      });
      expect([failed, most]).toEqual([[], 2]);
      const [first, second] = servers.map(({ models }) => [...models]) as [string[], string[]];
      expect(first.length).toBeGreaterThan(0);
      expect(second.length).toBeGreaterThan(0);
      expect(first.filter((model) => second.includes(model))).toEqual([]);
      expect(first.length + second.length).toBe(scored.length);
      // If there are more jobs than servers, jobs share servers.
      rmSync(join(out, 'evaluations'), { recursive: true });
      const more = await evaluateExperiment(out, { lmEval, jobs: 3, only: ['base', 'math-*'] });
      expect([more.failed, more.scored]).toEqual([[], ['base', 'math-1', 'math-2']]);
      rmSync(join(out, 'evaluations'), { recursive: true });
      const commands = await evaluationCommands(out, { lmEval, only: ['base', 'math-*'] });
      const asked = commands.map(
        ({ command }) =>
          JSON.parse(readFileSync(command.split(' ').at(-1) ?? '', 'utf8')).model_args.base_url,
      );
      expect(asked).toEqual([0, 1, 0].map((index) => `${base_url[index]}/v1/completions`));
    });

    it('has no more jobs than servers whose weights are exchanged', async () => {
      const served = { ...settings, backend: 'local-completions', exchange: 'vllm' };
      const { out } = await made({ ...served, base_url: ['http://127.0.0.1:1', 'http://127.0.0.1:2'] });
      await expect(evaluateExperiment(out, { lmEval, jobs: 3 })).rejects.toMatchObject({
        code: 'INVALID_PARAMETER',
        message: expect.stringMatching(/^jobs: expected at most 2: each server of base_url/),
      });
    });

    it.each(['dies', 'loads'])('records a server that %s, and goes on', async (fault) => {
      env('STUB_SERVER', fault);
      const { out } = await made(served);
      const outcome = await evaluateExperiment(out, { lmEval, only: ['base'] });
      expect(new Set(outcome.failed.map(({ code }) => code))).toEqual(new Set(['SERVER_FAILED']));
      expect(outcome.failed[0]?.message).toMatch(
        fault === 'dies' ? /it ended with exit code 3/ : /it did not answer within 3 s/,
      );
    });
  });
});
