import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { scoreTables, writeReport } from '../../src/index.js';
import type { EvaluationResult, ProblemResult } from '../../src/study/evaluation/result.js';
import { ResultFiles } from '../../src/study/evaluation/result-files.js';
import { layouts } from '../../src/study/paper/layouts.js';
import { loadScores } from '../../src/study/scores/reading/load-scores.js';
import { tablesOf } from '../../src/study/scores/tables.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { constructedResult, seeded } from '../fixtures/scored.js';

/** An experiment with only references, each scored by another version of one task. */
const study = async (versions: Readonly<Record<string, string>>) => {
  const folder = temporaryDirectory();
  const files = new ResultFiles(folder);
  const references = [];
  for (const [name, taskVersion] of Object.entries(versions)) {
    const result = constructedResult({ model: name, scores: [1, 0], changes: { taskVersion } });
    const { file } = await files.write(result, {});
    const { task, fewshot, n, rows, metrics } = result;
    references.push({
      ...{ name, model: `${name}=./${name}`, languages: ['swahili'] },
      role: name === 'base' ? 'base' : 'task',
      scores: { [task]: { taskVersion, fewshot, n, rows, metrics, result: `evaluations/${file}` } },
    });
  }
  writeFileSync(
    join(folder, 'experiment.json'),
    JSON.stringify({
      ...{ layerloom: '0.1.0', state: 'done', experiment: '', base: null, store: '', cost: {} },
      ...{ merges: [], references, bytesRead: 0, bytesWritten: 0, seconds: 0 },
      evaluate: { tasks: { swahili: 'mgsm_direct_sw' } },
    }),
  );
  return folder;
};

describe('results of several versions of a task', () => {
  it('are one warning of tables and of the report, with the command that scores the fewer again', async () => {
    const folder = await study({ base: '3', 'math-1': '3', 'math-2': '2' });
    const warning = `mgsm_direct_sw: 2 models have results of version 3 of the task, but 1 of version 2 (math-2); means include all versions, but models with different versions are not compared. \`layerloom evaluate ${folder} --force --only math-2\` scores these again`;
    expect((await scoreTables(folder)).warnings).toEqual([warning]);
    expect((await writeReport(folder, { out: join(folder, 'page.html') })).warnings).toEqual([warning]);
  });

  it('are no warning where there is one version', async () => {
    expect((await scoreTables(await study({ base: '3', 'math-1': '3' }))).warnings).toEqual([]);
  });
});

it("a result of an earlier version, which states no longest answer, has the task's own", async () => {
  const folder = temporaryDirectory();
  const files = new ResultFiles(folder);
  const { file, result } = await files.write(constructedResult({ scores: [1, 0] }), {});
  const path = join(files.directory, file);
  const { maxTokens, ...earlier } = JSON.parse(readFileSync(path, 'utf8'));
  expect(maxTokens).toBeNull();
  writeFileSync(path, JSON.stringify(earlier));
  expect(readdirSync(files.directory)).toContain(file);
  expect((await new ResultFiles(folder).read(file)).result.maxTokens).toBeNull();
  expect(result.maxTokens).toBeNull();
});

/** Mean of plain scores; undefined for pairs. */
const figureOf = (problems: readonly ProblemResult[], metric: string): number | undefined => {
  const scores = problems.map(({ scores: of }) => of[metric]);
  const plain = scores.filter((score) => typeof score === 'number');
  return plain.length < scores.length ? undefined : plain.reduce((a, b) => a + b, 0) / plain.length;
};

/** Answers of three models, each in `k` files; one file is in another order of problems. */
const sampledStudy = async (k: number, scoreOf: (draw: number) => ProblemResult['scores']) => {
  const [folder, random, task] = [temporaryDirectory(), seeded(k), 'mgsm_direct_sw'];
  const files = new ResultFiles(folder);
  const references = [];
  for (const name of ['base', 'math-1', 'math-2']) {
    const written: { readonly file: string; readonly result: Pick<EvaluationResult, 'metrics'> }[] = [];
    for (let at = 0; at < k; at++) {
      const plain = constructedResult({ model: name, scores: Array<number>(40).fill(0) });
      const problems = plain.problems.map((problem): ProblemResult => {
        const draw = random();
        const answers = { 'flexible-extract': draw > 0.9 ? '[invalid]' : `$${Math.floor(4 * draw)}.` };
        return { ...problem, scores: scoreOf(draw), answers, response: `it is "${draw}"` };
      });
      const metrics = Object.fromEntries(
        Object.keys(scoreOf(0)).map((metric) => [metric, figureOf(problems, metric) ?? random()]),
      );
      const own = at === 2 ? problems.toReversed() : problems;
      const changes = { ...{ sampling: 'temperature=1', seed: `${at}`, weights: name }, metrics };
      written.push(await files.write({ ...plain, ...changes, problems: own }, {}));
    }
    const [first] = written.map(({ file }) => `evaluations/${file}`);
    references.push({
      ...{ name, model: `${name}=./${name}`, languages: ['swahili'] },
      role: name === 'base' ? 'base' : 'task',
      scores: {
        [task]: {
          ...{ taskVersion: '3.0', fewshot: 8, n: 40, rows: null, metrics: {}, result: first },
          ...(k > 1 ? { samples: written.map(({ file }) => `evaluations/${file}`) } : {}),
        },
      },
    });
  }
  writeFileSync(
    join(folder, 'experiment.json'),
    JSON.stringify({
      ...{ layerloom: '0.1.0', state: 'done', experiment: '', base: null, store: '', cost: {} },
      ...{ merges: [], references, bytesRead: 0, bytesWritten: 0, seconds: 0 },
      evaluate: { tasks: { swahili: task } },
    }),
  );
  return folder;
};

describe('tables of results that are read without responses', () => {
  it.each<[name: string, k: number, scoreOf: (draw: number) => ProblemResult['scores']]>([
    ['one answer', 1, (draw) => ({ 'exact_match,flexible-extract': Number(draw < 0.5) })],
    ['scores 0 and 1', 5, (draw) => ({ 'exact_match,flexible-extract': Number(draw % 0.25 < 0.1) })],
    ['fractions', 4, (draw) => ({ 'f1,none': draw, 'exact_match,flexible-extract': Number(draw < 0.3) })],
    ['weights', 3, (draw) => ({ 'word_perplexity,none': [-draw, 1 + Math.floor(9 * draw)] })],
  ])('are those with responses: %s', async (_, k, scoreOf) => {
    const folder = await sampledStudy(k, scoreOf);
    const [bare, whole] = await Promise.all(
      [false, true].map(async (responses) =>
        tablesOf(await loadScores(folder, { responses }), layouts, { plan: 5 }),
      ),
    );
    expect(bare?.flatMap(({ rows }) => rows).length).toBeGreaterThan(7);
    expect(bare).toEqual(whole);
  });
});
