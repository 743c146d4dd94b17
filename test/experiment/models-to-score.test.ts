import { describe, expect, it } from 'vitest';
import { parseEvaluation } from '../../src/study/evaluation/settings.js';
import { expandExperiment } from '../../src/study/experiment/file/expand.js';
import { experimentReferences } from '../../src/study/experiment/file/references.js';
import type { MergeRecord } from '../../src/study/experiment/record/experiment-record.js';
import { modelsToScore } from '../../src/study/experiment/scoring/requests/models-to-score.js';
import { head, read } from './experiments.js';

const entries = `\
  - {name: default, method: layer_swap, task: math-1, language: swh-1}
  - {name: reverted, method: revert, model: math-1}
`;

const scored = async (more: string) => {
  const experiment = await read(`${head}${entries}${more}`);
  const merges = expandExperiment(experiment).map(
    ({ recipe: _recipe, entry: _entry, ...merge }): MergeRecord => ({
      ...merge,
      state: 'done',
      shards: { shared: 0, new: 0 },
      bytesRead: 0,
      bytesWritten: 0,
      seconds: 0,
    }),
  );
  const references = experimentReferences(experiment);
  const settings = parseEvaluation(experiment.evaluate, experiment.directory);
  return Object.fromEntries(
    modelsToScore({ merges, references }, settings, '/out').map(({ name, tasks }) => [name, tasks.join(' ')]),
  );
};

const evaluate = 'evaluate: {tasks: {swahili: sw, telugu: te, english: [en, more]}}\n';

describe('the models to score', () => {
  it('are references and merges, each in the languages it is measured in', async () => {
    const all = 'sw te en more';
    expect(await scored(`${evaluate}references: {joint: {model: ./joint, languages: swahili}}\n`)).toEqual({
      llama: all,
      'math-1': all,
      'math-2': all,
      'swh-1': 'sw en more',
      'swh-2': 'sw en more',
      'tel-1': 'te en more',
      joint: 'sw en more',
      'swahili/math-1+swh-1/default': 'sw en more',
      'all/math-1/reverted': all,
    });
  });

  it('are measured in every language on request', async () => {
    const models = await scored(evaluate.replace('{tasks', '{every_language: true, tasks'));
    expect(new Set(Object.values(models))).toEqual(new Set(['sw te en more']));
  });

  it('without a language of theirs are left out', async () => {
    const models = await scored('evaluate: {tasks: {telugu: te}}\n');
    expect(Object.keys(models)).toEqual(['llama', 'math-1', 'math-2', 'tel-1', 'all/math-1/reverted']);
  });
});
