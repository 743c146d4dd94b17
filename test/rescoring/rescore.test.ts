import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { taken } from '../../src/core/texts/expressions.js';
import { rescore } from '../../src/index.js';
import type { EvaluationResult } from '../../src/study/evaluation/result.js';
import { foldings } from '../../src/study/rescoring/equality.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { contentsOf } from '../fixtures/experiment.js';
import { writeStudy } from '../fixtures/written-study.js';

interface Golden {
  readonly response: string;
  readonly target: string;
  readonly flexible: string;
  readonly first: string;
  readonly mgsm: number;
  readonly gsm8k: number;
}

/** Made by lm_eval 0.4.13 (make_goldens.py). */
const goldens: readonly Golden[] = JSON.parse(readFileSync(new URL('lm-eval.json', import.meta.url), 'utf8'));

describe('answers and scores', () => {
  it('are those of lm_eval', () => {
    expect(goldens).toHaveLength(60);
    const texts = goldens.map(({ response }) => response);
    const of = (expression: string, which: 'first' | 'last') =>
      taken(expression, which, texts).map((text) => text?.trim() ?? '[invalid]');
    const flexible = of('(-?[$0-9.,]{2,})|(-?[0-9]+)', 'last');
    expect(flexible).toEqual(goldens.map((golden) => golden.flexible));
    expect(of('The answer is (-?[0-9.,]+)', 'first')).toEqual(goldens.map(({ first }) => first));
    const scores = (way: 'mgsm' | 'gsm8k', expected: (target: string) => string) =>
      goldens.map(({ flexible: answer, target }) => {
        const fold = foldings[way] as (text: string) => string;
        return Number(fold(answer) === fold(expected(target)));
      });
    expect(scores('mgsm', (target) => target)).toEqual(goldens.map(({ mgsm }) => mgsm));
    expect(scores('gsm8k', (target) => `so #### ${target}`)).toEqual(goldens.map(({ gsm8k }) => gsm8k));
  });
});

const study = () => join(temporaryDirectory(), 'study');
const task = 'mgsm_direct_sw';

/** Adds scores of a stricter filter: right answers of odd rows count as wrong. */
const withStrict = (result: EvaluationResult): EvaluationResult => {
  const problems = result.problems.map((problem) => {
    const right = problem.scores['exact_match,flexible-extract'] as number;
    const strict = problem.id % 2 === 0 ? right : 0;
    return {
      ...problem,
      scores: { ...problem.scores, 'exact_match,strict-match': strict },
      answers: {
        ...problem.answers,
        'strict-match': strict ? (problem.answers['flexible-extract'] ?? '') : '[invalid]',
      },
    };
  });
  const mean =
    problems.reduce((sum, { scores }) => sum + Number(scores['exact_match,strict-match']), 0) / result.n;
  return { ...result, problems, metrics: { ...result.metrics, 'exact_match,strict-match': mean } };
};

/** Problems and expected answers of the models in a study, read without the program. */
const read = (directory: string) => {
  const folder = join(directory, 'evaluations');
  const json = (name: string) => JSON.parse(readFileSync(join(folder, name), 'utf8'));
  const names = readdirSync(folder);
  const texts = json(names.find((name) => name.endsWith('.texts.json')) ?? '');
  const models = names
    .filter((name) => name.endsWith('.problems.json'))
    .map((name) => ({
      model: json(name.replace('.problems', '')).model as string,
      problems: json(name) as {
        id: number;
        document: string;
        response: string;
        scores: Record<string, number>;
      }[],
    }));
  return { texts: texts as Record<string, { question: string; target: string }>, models };
};

const tableOf = async (directory: string, options: Parameters<typeof rescore>[1], id = 'rescored') => {
  const { tables, warnings } = await rescore(directory, options);
  const table = tables.find((one) => one.id === id);
  const rows = new Map(
    table?.rows.map(({ label, cells }) => [label, cells.map((cell) => cell?.value ?? null)]),
  );
  return { rows, warnings, title: table?.title };
};

const mean = (scores: readonly number[]) => (100 * scores.reduce((a, b) => a + b, 0)) / scores.length;

describe('stored answers', () => {
  it("are scored by another of the harness's filters, with verdicts that change", async () => {
    const directory = study();
    await writeStudy(directory, { languages: ['swahili'], gridOf: [], problems: 60 }, withStrict);
    const before = contentsOf(directory);
    const { rows } = await tableOf(directory, { filter: 'strict-match' });
    const { models } = read(directory);
    expect(rows.size).toBe(models.length);
    for (const { model, problems } of models) {
      const [flexible, strict] = ['flexible-extract', 'strict-match'].map((filter) =>
        problems.map(({ scores }) => scores[`exact_match,${filter}`] as number),
      ) as [number[], number[]];
      const changed = flexible.filter((score, at) => score !== strict[at]).length;
      const [of, old, now, change, n, different] = rows.get(model) ?? [];
      expect([of, n, different]).toEqual([task, 60, changed]);
      expect(old).toBeCloseTo(mean(flexible), 9);
      expect(now).toBeCloseTo(mean(strict), 9);
      expect(change).toBeCloseTo(mean(strict) - mean(flexible), 9);
    }
    expect((await tableOf(directory, { filter: 'strict-match' }, 'verdicts')).title).toMatch(
      /Verdicts that changed: \d+ of \d+/,
    );
    expect(contentsOf(directory)).toEqual(before);
  });

  it('are scored by a rule of ones own, by a filter that they lack, and by corrected answers', async () => {
    const directory = study();
    await writeStudy(directory, { languages: ['swahili'], gridOf: [], problems: 40 });
    const { texts, models } = read(directory);
    const same = await tableOf(directory, { filter: 'flexible-extract' });
    const own = await tableOf(directory, { rule: 'The answer is (-?\\d+)\\.' });
    const other = await tableOf(directory, { rule: '\\d+', match: 'first' });
    for (const { model, problems } of models) {
      const right = mean(problems.map(({ scores }) => scores['exact_match,flexible-extract'] as number));
      for (const { rows } of [same, own]) expect(rows.get(model)?.[2]).toBeCloseTo(right, 9);
      const first = problems.map(({ document, response }) =>
        Number(/\d+/.exec(response)?.[0] === texts[document]?.target),
      );
      expect(other.rows.get(model)?.[2]).toBeCloseTo(mean(first), 9);
    }
    const corrections = join(directory, '..', 'corrected.jsonl');
    const { question, target } = texts['swahili-7'] ?? { question: '', target: '' };
    const lines = [
      { question: ` ${question}  `, answer: Number(target) + 1 },
      { question: 'a question of no problem', answer: 3 },
      { doc_id: 9, answer: '123456' },
    ];
    writeFileSync(corrections, lines.map((line) => JSON.stringify(line)).join('\n'));
    const corrected = await tableOf(directory, { targets: [`${task}=${corrections}`] });
    for (const { model, problems } of models) {
      const scores = problems.map(({ id, response, scores: stored }) => {
        if (id === 9) return 0;
        if (id !== 7) return stored['exact_match,flexible-extract'] as number;
        return Number(/is (-?\d+)\.$/.exec(response)?.[1] === String(Number(target) + 1));
      });
      expect(corrected.rows.get(model)?.[2]).toBeCloseTo(mean(scores), 9);
    }
    expect(corrected.warnings).toEqual([
      '1 of 3 rows of corrected.jsonl match no problem',
      `${task}: 2 expected answers were replaced`,
    ]);
  });

  it('are compared without known bad problems, and without each one', async () => {
    const directory = study();
    await writeStudy(directory, { languages: ['swahili'], gridOf: [], problems: 40 });
    const list = join(directory, '..', 'bad.txt');
    writeFileSync(
      list,
      `# known errors\n3\n${task} 5 # wrong unit\nmgsm_direct_te 6\nswahili-70000000000000\n`,
    );
    const dropped = await tableOf(directory, { drop: list });
    for (const { model, problems } of read(directory).models) {
      const kept = problems.filter(({ id }) => id !== 3 && id !== 5);
      expect(dropped.rows.get(model)?.[4]).toBe(38);
      expect(dropped.rows.get(model)?.[2]).toBeCloseTo(
        mean(kept.map(({ scores }) => scores['exact_match,flexible-extract'] as number)),
        9,
      );
    }
    expect(dropped.warnings).toEqual(['2 of 4 problems to leave out were not found']);

    const { rows } = await tableOf(directory, { sensitivity: true }, 'sensitivity');
    expect(rows.size).toBeGreaterThan(3);
    // Each deciding problem is tried alone: without it, the verdict is another one.
    let tried = 0;
    for (const [label, [, verdict, deciding, shown]] of rows) {
      const [id] = String(shown).split(' ');
      if (deciding === 0 || id === undefined) continue;
      writeFileSync(list, `${id}\n`);
      const without = await tableOf(directory, { drop: list, sensitivity: true }, 'sensitivity');
      expect(without.rows.get(label)?.[1], `${label} without ${id}`).not.toBe(verdict);
      tried += 1;
      if (tried === 3) break;
    }
  });

  it('leave out a model whose score is NaN', async () => {
    const directory = study();
    await writeStudy(directory, { languages: ['swahili'], gridOf: [], problems: 40 }, (result) =>
      result.model === 'math-1' ? { ...result, metrics: { 'exact_match,flexible-extract': null } } : result,
    );
    const list = join(directory, '..', 'bad.txt');
    writeFileSync(list, '3\n');
    const { rows, warnings } = await tableOf(directory, { drop: list });
    expect(warnings).toEqual([]);
    expect([...rows.keys()]).not.toContain('math-1');
    for (const [, cells] of rows) expect(cells[4]).toBe(39);
  });

  it('keep all problems where these do not give the score, as by F1', async () => {
    const directory = study();
    // lm_eval keeps a pair of answer and prediction by problem.
    await writeStudy(directory, { languages: ['swahili'], gridOf: [], problems: 40 }, (result) => ({
      ...result,
      metrics: { 'f1,none': 2 / 3 },
      higherIsBetter: { f1: true },
      problems: result.problems.map((problem) => ({
        ...problem,
        scores: { 'f1,none': problem.id < 20 ? [1, 1] : [1, 0] },
        answers: {},
      })),
    }));
    const list = join(directory, '..', 'bad.txt');
    writeFileSync(list, '3\n');
    const { rows, warnings } = await tableOf(directory, { drop: list });
    for (const [, cells] of rows) expect(cells.slice(1)).toEqual([100 * (2 / 3), 100 * (2 / 3), 0, 40, 0]);
    expect(warnings).toEqual([
      expect.stringMatching(
        /^some results of mgsm_direct_sw keep all problems: .* has no scores by problem that add up to its f1,none of mgsm_direct_sw$/,
      ),
    ]);
    const all = await tableOf(directory, { sensitivity: true }, 'sensitivity');
    for (const [, cells] of all.rows) expect(cells[1]).toBe('not tested');
  });

  it('are refused where they do not give their scores, lack a filter, or take too long', async () => {
    const directory = study();
    await writeStudy(directory, { languages: ['swahili'], gridOf: [], problems: 4 }, (result) => ({
      ...result,
      problems: result.problems.map((problem) => ({ ...problem, answers: { 'flexible-extract': 'x' } })),
    }));
    const refused = (options: Parameters<typeof rescore>[1]) =>
      rescore(directory, options).then(
        () => 'done',
        (error: { code?: string }) => error.code,
      );
    expect(await refused({ rule: '\\d+' })).toBe('RESCORE_REFUSED');
    expect(await refused({ filter: 'no-such-filter' })).toBe('RESCORE_REFUSED');
    expect(await refused({})).toBe('USAGE');
    expect(await refused({ filter: 'strict-match', rule: 'x' })).toBe('INVALID_PARAMETER');
    const whole = study();
    await writeStudy(whole, { languages: ['swahili'], gridOf: [], problems: 4 });
    await expect(rescore(whole, { rule: '(' })).rejects.toMatchObject({ code: 'INVALID_PARAMETER' });
    await expect(rescore(whole, { rule: '(([a-z ]+)+)+!' })).rejects.toMatchObject({
      code: 'INVALID_PARAMETER',
      message: expect.stringMatching(/took too long/),
    });
    for (const [name, content] of [
      ['empty.jsonl', ''],
      ['broken.jsonl', '{"question"'],
      ['deep.jsonl', '['.repeat(1e5)],
      ['list.json', '[3]'],
      ['answerless.csv', 'question,other\na,b\n'],
      ['id.csv', 'id,answer\n-1,3\n'],
    ] as const) {
      writeFileSync(join(whole, '..', name), content);
      await expect(rescore(whole, { targets: [join(whole, '..', name)] })).rejects.toMatchObject({
        code: 'DATA_INVALID',
      });
    }
    writeFileSync(join(whole, '..', 'others.tsv'), 'another question\t3\n');
    await expect(rescore(whole, { targets: [join(whole, '..', 'others.tsv')] })).rejects.toMatchObject({
      code: 'RESCORE_REFUSED',
    });
    writeFileSync(join(whole, '..', 'bad.txt'), 'all of them, please\n');
    await expect(rescore(whole, { drop: join(whole, '..', 'bad.txt') })).rejects.toMatchObject({
      code: 'DATA_INVALID',
    });
  });
});
