import { join } from 'node:path';
import * as z from 'zod';
import { LayerloomError } from '../../../../core/base/errors/errors.js';
import { readFileIfAny } from '../../../../core/models/checkpoint/files/small-file.js';
import { jsonOrNone } from '../../../../core/texts/json.js';
import { trainedModel } from '../../../evaluation/data/trained-models.js';
import type { ProblemTexts } from '../../../evaluation/result.js';
import { ResultFiles } from '../../../evaluation/result-files.js';
import type { ExperimentRecord } from '../../record/experiment-record.js';
import { findTrained, trainedModelsOf } from './trained-problems.js';

/** File of a bundle with facts about trainings, whose folders are not in the bundle. */
export const trainedName = 'trained.json';

const short = z.string().max(10_000);

const schema = z.object({
  problems: z.array(z.object({ task: short, count: z.number(), known: z.number(), directory: short })),
  models: z.array(trainedModel),
});

export type TrainingFacts = z.output<typeof schema>;

/**
 * Reads facts from the folders of trainings, or, if these are missing, from a bundle's `trained.json`.
 *
 * @throws READ_FAILED
 */
export const trainingFactsOf = async (
  directory: string,
  record: ExperimentRecord,
  tasks: ReadonlyMap<string, ProblemTexts>,
): Promise<TrainingFacts> => {
  const [problems, models] = [await findTrained(record, tasks), await trainedModelsOf(record)];
  if (problems.length > 0 && models.length > 0) return { problems, models: [...models] };
  const text = await readFileIfAny(join(directory, trainedName));
  const { data } = schema.safeParse(text === undefined ? undefined : jsonOrNone(text));
  return {
    problems: problems.length > 0 ? problems : (data?.problems ?? []),
    models: models.length > 0 ? [...models] : (data?.models ?? []),
  };
};

/** Reads the texts of scored problems by task. Skips unreadable results. */
export const scoredTexts = async (
  directory: string,
  { references, merges }: ExperimentRecord,
): Promise<ReadonlyMap<string, ProblemTexts>> => {
  const files = new ResultFiles(directory);
  const found = new Map<string, ProblemTexts>();
  const seen = new Set<string>();
  for (const { scores = {} } of [...references, ...merges])
    for (const [task, { result }] of Object.entries(scores))
      try {
        const { texts } = (await files.read(result.slice(result.lastIndexOf('/') + 1))).result;
        if (texts === null || seen.has(texts)) continue;
        seen.add(texts);
        found.set(task, { ...found.get(task), ...(await files.textsOf({ texts })) });
      } catch (error) {
        if (!(error instanceof LayerloomError)) throw error;
      }
  return found;
};
