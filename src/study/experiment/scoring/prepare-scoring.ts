import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makeDirectories } from '../../../core/engine/output/durable.js';
import { prepareTasks } from '../../evaluation/data/prepare-tasks.js';
import { evaluationsName } from '../../evaluation/result-files.js';
import { ScoredContents } from '../../evaluation/scored-contents.js';
import type { EvaluationSettings } from '../../evaluation/settings.js';
import type { ScoreError } from '../record/experiment-record.js';
import type { Asks } from './requests/asks.js';
import { tasksOf, unknownTasks } from './requests/check-tasks.js';
import {
  checkEvaluationFolders,
  claimIn,
  removeLeftovers,
  taskFolder,
} from './requests/evaluation-folders.js';

/** State shared by all models of a run. */
export interface Scoring extends AsyncDisposable {
  readonly settings: EvaluationSettings;
  readonly command: string;
  readonly includePaths: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Tasks that cannot be run, and why, such as a language without data. */
  readonly without: ReadonlyMap<string, ScoreError>;
  /** Adds a task to `without` if no model can be scored in it. */
  exclude(task: string, error: ScoreError): void;
  readonly notes: readonly string[];
  /** `evaluations/` of the experiment. */
  readonly directory: string;
  readonly contents: ScoredContents;
}

interface PrepareOptions {
  keep?: boolean;
  signal?: AbortSignal | undefined;
  asks?: Asks | undefined;
  onImpossible?: ((task: string, error: ScoreError) => void) | undefined;
}

/**
 * Prepares a run's task files, records its options in a claim, and finds tasks that cannot run. With `keep`, the files
 * stay, and the harness is not asked for tasks. Removes files of dead evaluations.
 *
 * @throws HARNESS_MISSING, INTERRUPTED
 */
export const prepareScoring = async (
  experiment: string,
  settings: EvaluationSettings,
  command: string,
  { keep = false, signal, asks, onImpossible }: PrepareOptions = {},
): Promise<Scoring> => {
  checkEvaluationFolders(experiment);
  const directory = join(experiment, evaluationsName);
  const name = keep ? 'tasks' : `${taskFolder}${randomUUID()}`;
  const folder = join(directory, name);
  await makeDirectories(directory, true);
  if (!keep) await removeLeftovers(experiment);
  const claim = keep ? undefined : await claimIn(directory, name, { asks });
  const dispose = async () => {
    if (!keep) await rm(folder, { recursive: true, force: true });
    await claim?.release();
  };
  try {
    const prepared = await prepareTasks(tasksOf(settings), settings, folder);
    const unknown = keep ? [] : await unknownTasks(settings, prepared, command, signal);
    const impossible = [...prepared.failures, ...unknown];
    const without = new Map<string, ScoreError>();
    const exclude = (task: string, { code, message }: ScoreError): void => {
      if (without.has(task)) return;
      without.set(task, { code, message });
      onImpossible?.(task, { code, message });
    };
    for (const [task, error] of impossible) exclude(task, error);
    return {
      settings,
      command,
      directory,
      contents: ScoredContents.of(experiment),
      without,
      exclude,
      includePaths: prepared.includePaths,
      environment: prepared.environment,
      notes: prepared.notes,
      [Symbol.asyncDispose]: dispose,
    };
  } catch (error) {
    await dispose();
    throw error;
  }
};
