import { join } from 'node:path';
import { LayerloomError } from '../../src/core/base/errors.js';
import { type ExperimentMerge, expandExperiment } from '../../src/study/experiment/file/expand.js';
import { type Experiment, readExperiment } from '../../src/study/experiment/file/read-experiment.js';
import { writeFiles } from '../recipe/recipes.js';

/** Two task experts, two experts of Swahili and one of Telugu; `merges:` follows. */
export const head = `base: ./llama
tasks: {math-1: ./math-1, math-2: ./math-2}
languages:
  swahili: {swh-1: ./swh-1, swh-2: ./swh-2}
  telugu: {tel-1: ./tel-1}
merges:
`;

/** Reads an experiment's text from `experiment.yaml` in its own folder. */
export const read = (text: string): Promise<Experiment> =>
  readExperiment(join(writeFiles({ 'experiment.yaml': text }), 'experiment.yaml'));

/** The merges of entries, one a line, behind `head`. */
export const expand = async (...entries: string[]): Promise<ExperimentMerge[]> =>
  expandExperiment(await read(head + entries.map((entry) => `  - ${entry}\n`).join('')));

/** The error message of work on an experiment, with file names but no folders. */
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
