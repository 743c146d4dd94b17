import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { constructedExperiment, writeRecord } from '../../bench/constructed-experiment.mjs';
import type { EvaluationResult } from '../../src/study/evaluation/result.js';
import { decodeBits, encodeBits } from '../../src/study/pages/components/data/bits.js';
import type { ReportData } from '../../src/study/pages/components/data/data.js';
import { signTest } from '../../src/study/pages/components/data/sign-test.js';
import { yamlOf } from '../../src/study/pages/components/data/yaml.js';
import { embedJson } from '../../src/study/pages/html-page.js';
import { bandsOf } from '../../src/study/pages/report/layer-bands.js';
import { drawReport } from '../../src/study/pages/report/write-report.js';
import type { ScoredExperiment } from '../../src/study/scores/reading/scored-experiment.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { exactMatch, outcomes, scoredModel } from '../fixtures/scored.js';
import { writeReportOf } from '../fixtures/tables.js';

const options = { languages: ['swahili', 'telugu'], gridOf: [], problems: 30 };

const dataOf = (file: string): ReportData =>
  JSON.parse(
    /<script type="application\/json" id="data">(?<json>.*?)<\/script>/s.exec(readFileSync(file, 'utf8'))
      ?.groups?.['json'] ?? '',
  );

const written = async (experiment: ScoredExperiment, samples?: number): Promise<ReportData> => {
  const out = join(temporaryDirectory(), 'report.html');
  await writeReportOf(experiment, { out, samples });
  return dataOf(out);
};

const meanOfFirst = (count: number, { problems, metrics }: EvaluationResult) => {
  const scores = problems.slice(0, count).map(({ scores: own }) => own[exactMatch] as number);
  return { ...metrics, [exactMatch]: scores.reduce((sum, score) => sum + score, 0) / count };
};

describe('right and wrong as bits', () => {
  it.each([0, 1, 7, 8, 9, 250])('comes back the same for %i problems', (n) => {
    const bits = Array.from({ length: n }, (_, index) => (index * 7 + (index >> 2)) % 3 === 0);
    expect(decodeBits(encodeBits(bits), n)).toEqual(bits);
  });

  it('takes a 250-problem result 44 characters', () => {
    expect(encodeBits(Array(250).fill(true))).toHaveLength(44);
  });
});

describe("McNemar's exact test", () => {
  // scipy 1.17: binomtest(min(a, b), a + b).pvalue
  it.each([
    [0, 0, 1],
    [5, 5, 1],
    [1, 9, 0.021484375],
    [47, 51, 0.7620362195],
    [600, 700, 0.0060157939],
  ])('of %i to %i is %d', (a, b, p) => {
    expect(signTest(a, b)).toBeCloseTo(p, 6);
  });
});

describe('JSON in a page', () => {
  it('cannot end its script element, and has no character that HTML forbids', () => {
    const name = '</script><!--<script>\u0000\u0007\u0085\u2028\ufffe';
    const text = embedJson({ name });
    expect(text).not.toMatch(/[<\p{Cc}\u2028\u2029\ufffe]/u);
    expect(JSON.parse(text)).toEqual({ name });
  });
});

describe('the data of a report', () => {
  it('has right and wrong of every model, and texts of references, defaults, best and worst only', async () => {
    const experiment = constructedExperiment(options);
    const data = await written(experiment, 10);
    const soups = data.models.filter(({ entry }) => entry === 'soup');
    expect(soups).toHaveLength(18);
    for (const { name, results, role, variant } of data.models) {
      const original = experiment.models.find((model) => model.name === name);
      for (const { right, task } of results) {
        const problems = original?.results.get(data.tasks[task]?.name ?? '')?.problems ?? [];
        expect(decodeBits(right ?? '', 30)).toEqual(
          problems.map(({ scores }) => Object.values(scores)[0] === 1),
        );
      }
      if (role !== 'merge' || variant === 'default')
        for (const { answers } of results) expect(answers).toHaveLength(10);
    }
    expect(
      soups.filter(({ results }) => results.some(({ answers }) => answers !== null)).length,
    ).toBeLessThanOrEqual(4);
    expect(data.tasks.map(({ kept }) => kept.length)).toEqual([10, 10]);
    expect(new Set(data.strings).size).toBe(data.strings.length);
    expect(data.omitted.join('\n')).toMatch(/20 of the 30 problems.*evaluations/s);
  });

  it('marks problems that a model was not asked', async () => {
    const experiment = constructedExperiment(options);
    const [first, ...others] = experiment.models;
    if (first === undefined) throw new Error('no model');
    const results = new Map(
      [...first.results].map(([task, result]) => [
        task,
        { ...result, problems: result.problems.slice(0, 12), n: 12, metrics: meanOfFirst(12, result) },
      ]),
    );
    const data = await written({ ...experiment, models: [...others, { ...first, results }] });
    const base = data.models.find(({ role }) => role === 'base');
    expect(data.warnings.join('\n')).toMatch(/constructed-base lacks problem 12/);
    expect(decodeBits(base?.results[0]?.seen ?? '', 30)).toEqual(
      Array.from({ length: 30 }, (_, index) => index < 12),
    );
  }, 60_000);

  it('says in its sentence what is within noise and what is not', async () => {
    const task = 'mgsm_direct_sw';
    const models = [
      scoredModel({ name: 'base', role: 'base', languages: ['swahili'], results: { [task]: outcomes(40) } }),
      scoredModel({
        name: 'math-1',
        role: 'task',
        languages: ['swahili'],
        results: { [task]: outcomes(80) },
      }),
    ];
    const merge = (right: number) =>
      scoredModel({
        ...{
          name: 'swahili/math-1+swh-1/default',
          language: 'swahili',
          task: 'math-1',
          languageExpert: 'swh-1',
        },
        ...{ method: 'layer_swap', entry: 'default', variant: 'default' },
        results: { [task]: outcomes(right) },
      });
    const sentence = async (right: number) =>
      (
        await written({
          ...{ directory: null, languages: ['swahili'], tasks: new Map([['swahili', [task]]]) },
          ...{ models: [...models, merge(right)], texts: {}, summaries: [], warnings: [] },
        })
      ).sentence;
    expect(await sentence(140)).toMatch(
      /scores 56\.0 on .*\. It is better than the task experts: \+24\.0 points, higher is better, 95 % interval \+.*, p < 0\.001, p < 0\.001 among 2 comparisons, 250 problems; the interval is for these two experts only, problems like these\.$/,
    );
    expect(await sentence(81)).toMatch(/It is within noise of the task experts: \+0\.4 points, /);
    expect(await sentence(40)).toMatch(/It is worse than the task experts: −16\.0 points, /);
  });

  it('shows configurations of a record whatever their lists hold', async () => {
    const experiment = constructedExperiment({ problems: 2 });
    const models = experiment.models.map((model, index) => ({
      ...model,
      configuration: { ...model.configuration, weights: [{ toString: `${index % 2}` }, null, 1] },
    }));
    const { grids } = await written({ ...experiment, models });
    expect(grids[0]?.axes.find(({ name }) => name === 'weights')?.values).toEqual([
      '{"toString":"0"} : null : 1',
      '{"toString":"1"} : null : 1',
    ]);
  });

  it('takes what every object inherits for no parameter of a configuration', async () => {
    const experiment = constructedExperiment({ problems: 2 });
    const models = experiment.models.map((model, index) => ({
      ...model,
      configuration: index % 2 === 0 ? { ...model.configuration, toString: 'x' } : model.configuration,
    }));
    const { grids } = await written({ ...experiment, models });
    expect(grids[0]?.axes.find(({ name }) => name === 'toString')?.values).toEqual(['undefined', 'x']);
  });

  it('draws a grid of as many places as configurations have, not as values have combinations', async () => {
    const experiment = constructedExperiment({ problems: 2 });
    const variants = [...new Set(experiment.models.map(({ variant }) => variant))];
    const withParameters = (count: number) => ({
      ...experiment,
      models: experiment.models.map((model) => ({
        ...model,
        configuration: Object.fromEntries(
          Array.from({ length: count }, (_, bit) => [`p${bit}`, variants.indexOf(model.variant) % (bit + 2)]),
        ),
      })),
    });
    // Twelve parameters of up to 13 values: more combinations than any memory could hold as a table.
    const data = await written(withParameters(12));
    const [grid] = data.grids;
    expect(grid?.axes.length).toBeGreaterThan(6);
    const page = await drawReport(data);
    const table = page.slice(page.indexOf('<table class="heat-map grid"'));
    const body = table.slice(table.indexOf('<tbody>'), table.indexOf('</tbody>'));
    expect(body.match(/<tr/g)?.length).toBeLessThanOrEqual(grid?.cells.length ?? 0);
    expect(body.match(/<td [^>]*title=/g)).toHaveLength(grid?.cells.length ?? 0);
    // A foreign record may have any number.
    expect((await written(withParameters(1000))).grids).toEqual([]);
  }, 60_000);

  it('names no best of two problems, neither in its sentence nor in its pictures', async () => {
    const languages = ['swahili', 'telugu'];
    const experiment = constructedExperiment({ languages, problems: 2 });
    const data = await written(experiment);
    expect(data.sentence).toMatch(
      /^The default layer swap .* cannot be compared with .*: too few problems to say in Swahili and Telugu\.$/,
    );
    expect(data.verdicts?.rows.map(({ label, cells }) => [label, cells.at(-1)?.value])).toEqual(
      ['Swahili', 'Telugu'].map((label) => [label, '2 problems, at least 30 are needed']),
    );
    const reason = 'too few problems to say (2 problems, at least 30 are needed)';
    expect(data.tasks.map(({ undecided }) => undecided)).toEqual([reason, reason]);
    expect(data.grids.map(({ best, undecided, finding }) => [best, undecided, finding])).toEqual(
      data.grids.map(() => [null, reason, null]),
    );
    expect(data.grids).not.toEqual([]);
    const page = await drawReport(data);
    const body = page.slice(page.indexOf('<body'), page.indexOf('<script type="application/json"'));
    expect(body).toContain(`No best is named: ${reason}.`);
    expect(body).not.toMatch(/class="best|class="[^"]*is-best|class="best-label"|Highest|within noise/);
  }, 60_000);

  it('holds merges, layers and cost without scores', async () => {
    const directory = join(temporaryDirectory(), 'experiment');
    const experiment = constructedExperiment({ ...options, directory, scored: false });
    writeRecord(experiment, 28);
    const data = await written(experiment);
    expect(data.sentence).toBeNull();
    expect(data.costs.map(({ key }) => key)).toEqual(['bytesWritten', 'seconds', 'swapped']);
    expect(data.models.find(({ variant }) => variant === 'default')?.bands).toMatchObject([
      { first: 0, last: 4, from: 'language' },
      { first: 5, last: 25, from: 'task' },
      { first: 26, last: 27, from: 'language' },
    ]);
  });
});

describe('the layers of a merge', () => {
  it('have averaged runs between the experts where there are transitions', () => {
    const model = scoredModel({
      ...{ name: 'm', method: 'layer_swap', task: 'math', languageExpert: 'swh' },
      configuration: { bottom: 4, top: 1, bottomTransition: 2, topTransition: 1, others: 'task' },
    });
    const { bands, outside } = bandsOf(model, 16);
    expect(bands.map(({ first, last, label }) => [first, last, label])).toEqual([
      [0, 3, 'swh'],
      [4, 5, 'average of math and swh'],
      [6, 13, 'math'],
      [14, 14, 'average of math and swh'],
      [15, 15, 'swh'],
    ]);
    expect(outside).toBe('math');
  });
});

describe('the layers of a merge of parts', () => {
  const bandsWith = (configuration: Readonly<Record<string, unknown>>) => {
    const of = { name: 'm', method: 'layer_swap', task: 'math', languageExpert: 'swh' };
    const { bands, outside } = bandsOf(scoredModel({ ...of, configuration }), 6);
    return [...bands.map(({ first, last, from, label }) => `${first}-${last} ${from}: ${label}`), outside];
  };

  it('are those of each set, and of the base', () => {
    expect(bandsWith({ langLayers: '0,4-5', baseLayers: 2, others: 'average' })).toEqual([
      '0-0 language: swh',
      '1-1 task: math',
      '2-2 other: the base',
      '3-3 task: math',
      '4-5 language: swh',
      'average of math and swh',
    ]);
  });

  it('have their modules named where these are of several models', () => {
    const parts = [
      { model: 'language', layers: '0-1', modules: 'attention' },
      { models: ['task', 'base'], weights: [1, 3], layers: 2 },
      { model: 'language', modules: 'embeddings' },
      { model: 'task', layers: 'rest' },
    ];
    expect(bandsWith({ parts })).toEqual([
      '0-1 mixed: attention: swh; feed-forward, norms: math',
      '2-2 mixed: 0.25 math + 0.75 the base',
      '3-5 task: math',
      'embeddings: swh; final norm: math',
    ]);
  });

  it('are drawn as they were asked for where the merge failed', () => {
    expect(bandsWith({ langLayers: '0-9', others: 'task' })).toEqual(['0-5 language: swh', 'math']);
  });
});

describe('the recipe shown', () => {
  it('quotes what YAML would read as something else', () => {
    expect(yamlOf({ bottomTransition: 1, weights: [1, 3], base: 'true', name: 'a: b' })).toBe(
      'bottom_transition: 1\nweights: [1, 3]\nbase: "true"\nname: "a: b"\n',
    );
  });
});

describe('the file of a report', () => {
  it('is replaced if it is a page of ours, and otherwise only with force', async () => {
    const out = join(temporaryDirectory(), 'page.html');
    const experiment = constructedExperiment({ ...options, scored: false });
    writeFileSync(out, 'mine');
    await expect(writeReportOf(experiment, { out })).rejects.toMatchObject({ code: 'OUTPUT_EXISTS' });
    expect(readFileSync(out, 'utf8')).toBe('mine');
    await writeReportOf(experiment, { out, force: true });
    await writeReportOf(experiment, { out });
    expect(existsSync(out)).toBe(true);
  });

  it('is not written for an analysis that is not there, or a broken number of samples', async () => {
    const out = join(temporaryDirectory(), 'page.html');
    const experiment = constructedExperiment({ ...options, scored: false });
    await expect(writeReportOf(experiment, { out, analysis: temporaryDirectory() })).rejects.toMatchObject({
      code: 'READ_FAILED',
    });
    await expect(writeReportOf(experiment, { out, samples: -1 })).rejects.toMatchObject({
      code: 'INVALID_PARAMETER',
    });
    expect(existsSync(out)).toBe(false);
  });
});
