import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LayerloomError } from '../../../../core/base/errors/errors.js';
import { nearest } from '../../../../core/base/nearest.js';
import { isHarnessTask } from '../../../evaluation/data/local/local-data.js';
import { type PreparedTasks, prepareTasks } from '../../../evaluation/data/prepare-tasks.js';
import { listTasks } from '../../../evaluation/harness/harness.js';
import { harnessCommand } from '../../../evaluation/harness/harness-command.js';
import { type EvaluationSettings, parseEvaluation } from '../../../evaluation/settings.js';
import type { Experiment } from '../../file/read-experiment.js';

export const tasksOf = ({ tasks }: EvaluationSettings): string[] => [...new Set([...tasks.values()].flat())];

/** Tasks that only the harness knows; asking it takes long. */
const askedOf = (settings: EvaluationSettings, { failures, included }: PreparedTasks): string[] =>
  tasksOf(settings).filter((task) => (isHarnessTask(task) || included.has(task)) && !failures.has(task));

/**
 * Asks the harness for its tasks. Tasks of the user must have other names.
 *
 * @returns unknown tasks, and tasks that the user and the harness both define
 * @throws HARNESS_MISSING, INTERRUPTED
 */
export const unknownTasks = async (
  settings: EvaluationSettings,
  prepared: PreparedTasks,
  command: string,
  signal?: AbortSignal,
): Promise<[task: string, error: LayerloomError][]> => {
  const asked = askedOf(settings, prepared);
  if (asked.length === 0) return [];
  const { included, includePaths, environment } = prepared;
  const [ours] = includePaths.filter((path) => !settings.include.includes(path));
  const known = await listTasks(command, ours, environment, signal);
  return asked.flatMap((task): [string, LayerloomError][] => {
    const directory = included.get(task);
    if ((directory !== undefined) !== known.has(task)) return [];
    const reason = `the harness already has a task ${task}`;
    const error =
      directory !== undefined
        ? new LayerloomError('INCLUDE_INVALID', { directory, reason })
        : new LayerloomError('TASK_UNKNOWN', {
            tasks: [task],
            nearest: nearest(task, new Set([...known, ...included.keys()])),
          });
    return [[task, error]];
  });
};

export interface CheckedTasks {
  readonly failed: ReadonlyMap<string, LayerloomError>;
  /** Tasks that were not checked because the harness is not installed. */
  readonly unchecked: readonly string[];
}

/**
 * Checks an `evaluate:` block's tasks: reads local data, and asks the harness if installed.
 *
 * @throws INTERRUPTED
 */
export const checkExperimentTasks = async (
  { evaluate }: Pick<Experiment, 'evaluate'>,
  signal?: AbortSignal,
  command = harnessCommand(undefined),
): Promise<CheckedTasks> => {
  if (evaluate?.tasks === undefined) return { failed: new Map(), unchecked: [] };
  const settings = parseEvaluation(evaluate, process.cwd());
  const folder = await mkdtemp(join(tmpdir(), 'layerloom-tasks-'));
  try {
    const prepared = await prepareTasks(tasksOf(settings), settings, folder);
    try {
      const unknown = await unknownTasks(settings, prepared, command, signal);
      return { failed: new Map([...prepared.failures, ...unknown]), unchecked: [] };
    } catch (error) {
      if (!(error instanceof LayerloomError) || error.code !== 'HARNESS_MISSING') throw error;
      return { failed: prepared.failures, unchecked: askedOf(settings, prepared) };
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};
