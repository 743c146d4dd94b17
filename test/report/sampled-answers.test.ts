import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { h } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { expect, it } from 'vitest';
import { constructedExperiment } from '../../bench/constructed-experiment.mjs';
import type { EvaluationResult } from '../../src/study/evaluation/result.js';
import { ofSamples } from '../../src/study/evaluation/sampled-result.js';
import type { ReportData } from '../../src/study/pages/components/data/data.js';
import { Samples } from '../../src/study/pages/components/tables/samples.js';
import type { ScoredExperiment } from '../../src/study/scores/reading/scored-experiment.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { writeReportOf } from '../fixtures/tables.js';

const task = 'mgsm_direct_sw';
const metric = 'exact_match,flexible-extract';

/** The third of three answers to each problem is right, and only that. */
const drawn = (result: EvaluationResult): EvaluationResult => {
  const runs = ['first', 'second', 'third'].map((word, at) => ({
    ...result,
    problems: result.problems.map((problem) => ({
      ...problem,
      response: `the ${word} response`,
      answers: { 'flexible-extract': word },
      scores: { [metric]: at === 2 ? 1 : 0 },
    })),
  }));
  return ofSamples(runs) as EvaluationResult;
};

it('shows of k answers to a problem how many are right, and all k', async () => {
  const made = constructedExperiment({
    languages: ['swahili'],
    gridOf: [],
    problems: 4,
  }) as unknown as ScoredExperiment;
  const models = made.models.map((model) => {
    const result = model.results.get(task);
    return result === undefined || model.role !== 'base'
      ? model
      : { ...model, results: new Map([[task, drawn(result)]]) };
  });
  const out = join(temporaryDirectory(), 'report.html');
  await writeReportOf({ ...made, models }, { out });
  const json = /<script type="application\/json" id="data">(?<json>.*?)<\/script>/s.exec(
    readFileSync(out, 'utf8'),
  )?.groups?.['json'];
  const data = JSON.parse(json ?? '') as ReportData;
  const model = data.models.find(({ role }) => role === 'base');
  if (model === undefined) throw new Error('no base');
  const page = renderToString(h(Samples, { data, model }));
  expect(page.match(/1 of 3 right/g)).toHaveLength(4);
  expect(page.match(/All 3 answers; the first is above/g)).toHaveLength(4);
  for (const [word, count] of [
    ['first', 8],
    ['second', 4],
    ['third', 4],
  ] as const)
    expect(page.match(new RegExp(`the ${word} response`, 'g'))).toHaveLength(count);
  expect(page.match(/3\. ✓ <b>third<\/b>/g)).toHaveLength(4);
  // A model with one answer to each problem has no such list.
  const other = data.models.find(({ role, results }) => role !== 'base' && results[0]?.answers != null);
  expect(other?.results.map((result) => result.drawn)).toEqual(other?.results.map(() => null));
});
