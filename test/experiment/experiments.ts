import { join } from 'node:path';
import { LayerloomError } from '../../src/core/base/errors/errors.js';
import { type ExperimentMerge, expandExperiment } from '../../src/study/experiment/file/expand.js';
import { type Experiment, readExperiment } from '../../src/study/experiment/file/read-experiment.js';
import { writeFiles } from '../recipe/recipes.js';

export const head = `base: ./llama
tasks: {math-1: ./math-1, math-2: ./math-2}
languages:
  swahili: {swh-1: ./swh-1, swh-2: ./swh-2}
  telugu: {tel-1: ./tel-1}
merges:
`;

export const read = (text: string): Promise<Experiment> =>
  readExperiment(join(writeFiles({ 'experiment.yaml': text }), 'experiment.yaml'));

export const expand = async (...entries: string[]): Promise<ExperimentMerge[]> =>
  expandExperiment(await read(head + entries.map((entry) => `  - ${entry}\n`).join('')));

export const refusal = async (work: () => Promise<unknown>): Promise<string> => {
  try {
    await work();
  } catch (error) {
    if (error instanceof LayerloomError && error.exitCode === 2)
      return error.message.replace(/\/\S*\/(?=experiment\.yaml)/g, '');
    throw error;
  }
  return 'not refused';
};
