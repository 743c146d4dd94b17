import * as z from 'zod';
import { LayerloomError } from '../core/base/errors/errors.js';
import { emptyTable } from '../core/base/errors/lookup.js';
import { readJsonFile } from '../core/models/checkpoint/files/json-file.js';
import { trainingStatusOf } from '../study/training/status.js';

/** Study's models, for `experimentPreset`. Paths are absolute. */
export interface StudyModels {
  readonly base: string;
  readonly tasks: Readonly<Record<string, string>>;
  readonly languages: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly references: Readonly<
    Record<string, { readonly model: string; readonly role: string; readonly languages?: readonly string[] }>
  >;
  /** Tasks and rows whose scores selected the experts; absent if scores did not. */
  readonly selectedBy?: Readonly<Record<string, string>>;
  /** Warnings about models that are excluded, with reasons. */
  readonly warnings: readonly string[];
}

/**
 * Returns the base of trainings, and every usable checkpoint: complete, fitting the base, and from a run that
 * did not diverge. Models of joint and math-only SFT become references.
 *
 * @param directories of `trainInit`
 * @throws LayerloomError TRAINING_INVALID; TRAINING_INCOMPLETE if no checkpoint is usable
 */
export const trainedModels = async (directories: readonly string[]): Promise<StudyModels> => {
  const { base, runs } = await trainingStatusOf(directories);
  const tasks = emptyTable<string>();
  const languages = emptyTable<Record<string, string>>();
  const references = emptyTable<StudyModels['references'][string]>();
  for (const { role, language, state, models } of runs) {
    if (state === 'diverged' || state === 'foreign') continue;
    for (const { name, model, problem } of models) {
      if (problem !== undefined) continue;
      if (role === 'task') tasks[name] = model;
      else if (role === 'language') {
        languages[language ?? ''] ??= emptyTable();
        (languages[language ?? ''] as Record<string, string>)[name] = model;
      } else references[name] = { model, role, ...(language === null ? {} : { languages: [language] }) };
    }
  }
  const problems = runs.flatMap(({ name, problem }) =>
    problem === undefined ? [] : [{ run: name, problem }],
  );
  if ([tasks, languages, references].every((of) => Object.keys(of).length === 0))
    throw new LayerloomError('TRAINING_INCOMPLETE', { unfinished: problems, runs: runs.length });
  return {
    base,
    tasks,
    languages,
    references: withKnownLanguages(references, Object.keys(languages)),
    warnings: problems.map(({ run, problem }) => `excluded from ${run}: ${problem}`),
  };
};

const withKnownLanguages = (
  references: StudyModels['references'],
  known: readonly string[],
): StudyModels['references'] =>
  Object.fromEntries(
    Object.entries(references).map(([name, { languages, ...reference }]) => [
      name,
      languages?.every((language) => known.includes(language)) ? { ...reference, languages } : reference,
    ]),
  );

const selectionFile = () => {
  const experts = z.record(z.string(), z.string());
  return z.object({
    models: z.object({ base: z.string(), tasks: experts, languages: z.record(z.string(), experts) }),
    measured: z.record(z.string(), z.object({ rows: z.string(), problems: z.number() })).exactOptional(),
  });
};

/**
 * Returns the base and experts in a file of `select`.
 *
 * @throws LayerloomError SELECTION_INVALID
 */
export const selectedModels = async (file: string): Promise<StudyModels> => {
  const { models, measured = {} } = await readJsonFile(file, {
    schema: selectionFile(),
    what: 'a choice of experts',
    fail: ({ reason, cause }) =>
      new LayerloomError(
        'SELECTION_INVALID',
        {
          reason: `${file}: ${reason}`,
          remedy: 'select by the scores of an experiment: a file of scores has no paths of models',
        },
        { cause },
      ),
  });
  const selectedBy = Object.fromEntries(Object.entries(measured).map(([task, { rows }]) => [task, rows]));
  return {
    ...models,
    references: {},
    ...(Object.keys(selectedBy).length === 0 ? {} : { selectedBy }),
    warnings: [],
  };
};
