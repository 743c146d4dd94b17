import { execFile, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { itemAt } from '../../src/core/base/errors/lookup.js';
import { findHarnessResults } from '../../src/study/evaluation/harness/harness-output.js';
import type { ProblemResult, Score } from '../../src/study/evaluation/result.js';
import type { ExperimentRecord } from '../../src/study/experiment/record/experiment-record.js';
import { cli, finished, startCli } from '../fixtures/cli.js';
import { recordIn } from '../fixtures/experiment.js';

const {
  LAYERLOOM_PYTHON: python = '',
  LAYERLOOM_EXPERTS: experts = '',
  LAYERLOOM_MGSM: mgsm = '',
  LAYERLOOM_SERVE: serve,
  TMPDIR: temporary = '/tmp',
} = process.env;

const hasHarness = python !== '' && spawnSync(python, ['-c', 'import lm_eval']).status === 0;
const hour = 3_600_000;
vi.setConfig({ testTimeout: hour });

const root = join(temporary, `layerloom-evaluation-${process.pid}`);

const [generation, perplexity] = ['layerloom_mgsm_ja', 'layerloom_mgsm_ppl_ja'];
const merge = 'japanese/math-1+jpn-1/default';

/** The harness; if KEEP is set, it also copies its outputs there before layerloom removes them. */
const harness = join(root, 'harness.sh');
const harnessText = `'${python}' -m lm_eval "$@" || exit
[ -z "$KEEP" ] || [ "$1" != run ] || cp -r "$(dirname "$3")/output" "$KEEP/$$"
`;

const batch = async (name: string, backend: string): Promise<string> => {
  const [file, out] = [join(root, `${name}.yaml`), join(root, name)];
  writeFileSync(
    file,
    `base: ${join(experts, 'base')}
tasks: {math-1: ${join(experts, 'math-1')}}
languages:
  japanese: {jpn-1: ${join(experts, 'jpn-1')}}
merges:
  - {name: default, method: layer_swap}
evaluate:
  tasks: {japanese: [${generation}, ${perplexity}]}
  fewshot: 8
  problems: {${generation}: 0-1, ${perplexity}: 200-203}
  arguments: [--gen_kwargs, max_gen_toks=16]
  data: ${mgsm}
${backend}`,
  );
  expect(await cli(['batch', file, '-o', out, '-q'])).toMatchObject({ code: 0, stderr: '' });
  return out;
};

const hf = '  model_args: {dtype: float32}\n  device: cpu\n';

const unscored = (out: string, name: string): string => {
  const copy = join(root, name);
  cpSync(out, copy, { recursive: true, filter: (path) => !path.startsWith(join(out, 'evaluations')) });
  const record = recordIn(copy) as ExperimentRecord;
  const without = <T extends object>(entries: readonly T[]) =>
    entries.map((entry) => ({ ...entry, scores: undefined }));
  writeFileSync(
    join(copy, 'experiment.json'),
    JSON.stringify({ ...record, merges: without(record.merges), references: without(record.references) }),
  );
  return copy;
};

const evaluate = (out: string, only: readonly string[], more: readonly string[] = [], env = {}) =>
  cli(['evaluate', out, '--lm-eval', `sh ${harness}`, '--only', ...only, ...more], env);

const scoresIn = (out: string): Map<string, Record<string, Score>> => {
  const { references, merges } = recordIn(out) as ExperimentRecord;
  return new Map([...references, ...merges].map(({ name, scores = {} }) => [name, { ...scores }]));
};

const scoreOf = (out: string, model: string, task: string): Score => {
  const score = scoresIn(out).get(model)?.[task];
  if (score === undefined) throw new Error(`${model} has no score in ${task}`);
  return score;
};

const problemsOf = (out: string, model: string, task: string): ProblemResult[] =>
  JSON.parse(
    readFileSync(join(out, scoreOf(out, model, task).result.replace('.json', '.problems.json')), 'utf8'),
  ) as ProblemResult[];

const logOf = (out: string, model: string): string => join(out, 'evaluations', 'logs', `${model}.log`);

interface HarnessFile {
  readonly model_name: string;
  readonly results: Record<string, Record<string, string | number>>;
}

describe.skipIf(!hasHarness || experts === '' || mgsm === '')(
  'scores of real experts by lm-eval (LAYERLOOM_PYTHON with lm_eval 0.4.13, LAYERLOOM_EXPERTS, LAYERLOOM_MGSM)',
  () => {
    const kept = join(root, 'kept');
    let out = '';

    beforeAll(async () => {
      mkdirSync(kept, { recursive: true });
      writeFileSync(harness, harnessText);
      out = await batch('hf', hf);
      const result = await evaluate(out, ['base', 'jpn-1', '*/default'], ['-q'], { KEEP: kept });
      expect([result.code, result.stderr]).toEqual([0, '']);
    }, hour);
    afterAll(() => rmSync(root, { recursive: true, force: true }));

    it('are the figures of the harness’s own files', async () => {
      const files = (await findHarnessResults(kept)).map(
        (file) => JSON.parse(readFileSync(file, 'utf8')) as HarnessFile,
      );
      // Two runs a model: the tasks use 8 and 0 shots.
      expect(files).toHaveLength(6);
      const places = {
        base: join(experts, 'base'),
        'jpn-1': join(experts, 'jpn-1'),
        [merge]: join(out, merge),
      };
      for (const [model, path] of Object.entries(places)) {
        const own = files.filter(({ model_name: name }) => name === path);
        expect(own.map(({ results }) => Object.keys(results)[0]).sort()).toEqual([generation, perplexity]);
        for (const { results } of own)
          for (const [task, figures] of Object.entries(results)) {
            const { metrics, n } = scoreOf(out, model, task);
            expect(n).toBe(task === generation ? 2 : 4);
            const expected = Object.entries(figures).filter(([key]) => key.includes(','));
            expect(expected.length, task).toBeGreaterThan(2);
            expect(metrics, `${model} ${task}`).toEqual(
              Object.fromEntries(expected.map(([key, value]) => [key, value === 'N/A' ? null : value])),
            );
          }
      }
      // Other weights have other figures.
      const figures = Object.keys(places).map(
        (model) => scoreOf(out, model, perplexity).metrics['byte_perplexity,none'],
      );
      expect(new Set(figures).size).toBe(3);
      expect(scoresIn(out).get('math-1')).toEqual({});
      expect(readdirSync(join(out, 'evaluations', '.runs'))).toEqual([]);
    });

    it('are the same when the printed commands are run and their results imported', async () => {
      const other = unscored(out, 'imported');
      const printed = await evaluate(other, ['base'], ['--print']);
      const commands = printed.stdout.trim().split('\n');
      expect(commands).toHaveLength(2);
      for (const command of commands)
        await promisify(execFile)('sh', ['-c', command], { maxBuffer: 2 ** 26 });
      const imported = await cli(['evaluate', other, '--import', join(other, 'evaluations', 'runs')]);
      expect([imported.code, imported.stderr]).toEqual([0, '']);
      for (const task of [generation, perplexity]) {
        expect(scoreOf(other, 'base', task).metrics).toEqual(scoreOf(out, 'base', task).metrics);
        expect(problemsOf(other, 'base', task)).toEqual(problemsOf(out, 'base', task));
      }
    });

    it('are the same after an interruption, whose answers --resume takes from the harness’s cache', async () => {
      const other = unscored(out, 'resumed');
      const child = startCli(['evaluate', other, '--lm-eval', `sh ${harness}`, '--only', 'base', '--resume']);
      const ended = finished(child);
      const log = logOf(other, 'base');
      let isEnded = false;
      void ended.then(() => {
        isEnded = true;
      });
      const oneDone = /Running generate_until requests:[^\r\n]* 1\/2 \[/;
      while (!isEnded && !(existsSync(log) && oneDone.test(readFileSync(log, 'utf8')))) await pause(20);
      // A separate thread writes the cache.
      await pause(500);
      child.kill('SIGINT');
      expect((await ended).code).toBe(130);
      const before = readFileSync(log, 'utf8').length;
      const result = await evaluate(other, ['base'], ['--resume', '-q']);
      expect([result.code, result.stderr]).toEqual([0, '']);
      expect(readFileSync(log, 'utf8').slice(before)).toMatch(/Cached requests: 1, Requests remaining: 1/);
      for (const task of [generation, perplexity])
        expect(problemsOf(other, 'base', task)).toEqual(problemsOf(out, 'base', task));
      expect(readdirSync(join(other, 'evaluations', '.runs'))).toEqual([]);
    });

    it.skipIf(serve === undefined)('are those that a server gives (LAYERLOOM_SERVE)', async () => {
      const served = await batch(
        'served',
        `  backend: local-completions\n  serve: ${JSON.stringify(serve)}\n`,
      );
      const result = await evaluate(served, ['base', '*/default'], ['-q']);
      expect([result.code, result.stderr]).toEqual([0, '']);
      for (const model of ['base', merge]) {
        // The same prompts, and in float32 the same tokens. If the last token leaves a character incomplete,
        // hf writes U+FFFD, and streaming servers write nothing.
        const [own, hfs] = [served, out].map((place) =>
          problemsOf(place, model, generation).map((problem) => ({
            ...problem,
            response: problem.response.replace(/\uFFFD+$/, ''),
          })),
        );
        expect(own).toEqual(hfs);
        const sums = [served, out].map((place) =>
          problemsOf(place, model, perplexity).map(({ prompt, scores }) => {
            const [sum, bytes] = scores['byte_perplexity,none'] as [number, number];
            return { prompt, sum, bytes };
          }),
        );
        for (const [index, { sum, ...rest }] of itemAt(sums, 0).entries()) {
          const { sum: expected, ...others } = itemAt(itemAt(sums, 1), index);
          expect(rest).toEqual(others);
          expect(Math.abs(sum / expected - 1)).toBeLessThan(1e-5);
        }
      }
      expect(spawnSync('ps', ['-eo', 'args']).stdout.toString()).not.toContain(join(served, merge));
    });
  },
);
