import { createHash } from 'node:crypto';
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { groupBy, itemAt } from '../../../core/base/errors/lookup.js';
import { namesIn, unlessMissing } from '../../../core/base/files/unless-missing.js';
import type { HarnessRun } from '../../evaluation/harness/harness.js';
import type { FoundResult } from '../../evaluation/result-files.js';
import type { EvaluationSettings, Rows } from '../../evaluation/settings.js';
import type { Scoring } from './prepare-scoring.js';
import type { ModelToScore } from './requests/models-to-score.js';
import { backendIn, samplesOf, type TaskSample } from './requests/wanted-results.js';

type RunPlace = Pick<HarnessRun, 'path' | 'inPlace' | 'server' | 'servedName'> & { readonly weights: string };

interface RunSettings {
  readonly tasks: readonly string[];
  readonly fewshot: number | undefined;
  readonly sample: number;
}

const groupsOf = (samples: readonly TaskSample[], settings: EvaluationSettings): RunSettings[] =>
  [
    ...groupBy(samples, ({ task, sample }) =>
      JSON.stringify([settings.fewshotOf(task) ?? null, settings.samplingTextOf(task), sample]),
    ).values(),
  ].map((group) => ({
    tasks: group.map(({ task }) => task),
    fewshot: settings.fewshotOf(itemAt(group, 0).task),
    sample: itemAt(group, 0).sample,
  }));

export const runsOf = (
  { name }: ModelToScore,
  samples: readonly TaskSample[],
  scoring: Pick<Scoring, 'settings' | 'includePaths' | 'directory'>,
  more: RunPlace,
): HarnessRun[] => groupsOf(samples, scoring.settings).map((group) => runOf(name, group, scoring, more));

export const runOf = (
  name: string,
  run: RunSettings,
  { settings, includePaths, directory }: Pick<Scoring, 'settings' | 'includePaths' | 'directory'>,
  { weights, ...place }: RunPlace,
): HarnessRun => ({
  ...{ name, ...place, ...run },
  rows: rowsOf(run.tasks, settings),
  ...{ settings, includePaths },
  directory: join(directory, runsName, keyOf(run, weights, settings)),
});

const runsName = '.runs';

const rowsOf = (tasks: readonly string[], settings: EvaluationSettings): Map<string, Rows | null> =>
  new Map(tasks.map((task) => [task, settings.rowsOf(task)]));

const keyOf = (
  { tasks, fewshot, sample }: RunSettings,
  weights: string,
  settings: EvaluationSettings,
): string => {
  const most = tasks.map((task) => settings.maxTokensOf(task));
  const drawn = tasks.map((task) => settings.samplingTextOf(task)).filter((text) => text !== null);
  const rows = [...rowsOf(tasks, settings)];
  const what = [weights, rows, fewshot ?? null, settings.seedOf(sample), backendIn(settings), most, ...drawn];
  return createHash('sha256').update(JSON.stringify(what)).digest('hex').slice(0, 32);
};

/**
 * Finds answers left by a process that died after a model's last result. Excludes answers under other
 * settings, and newer ones, which a run with `force` may resume.
 *
 * @returns directories
 * @throws READ_FAILED
 */
export const answersLeft = async (
  { tasks }: ModelToScore,
  weights: string,
  { settings, directory, without }: Scoring,
  results: readonly FoundResult[],
): Promise<string[]> => {
  const folder = join(directory, runsName);
  const there = await namesIn(folder);
  if (there.length === 0) return [];
  const asked = tasks.filter((task) => !without.has(task));
  const samples = asked.flatMap((task) => samplesOf(task, settings));
  const keys = groupsOf(samples, settings).flatMap((group) =>
    // Tasks run together and, after a failure, one by one.
    [group.tasks, ...group.tasks.map((task) => [task])].map((own) =>
      keyOf({ ...group, tasks: own }, weights, settings),
    ),
  );
  const made = results.map(({ file }) => file);
  const newest = await newestOf(directory, made);
  const left: string[] = [];
  for (const key of new Set(keys)) {
    const answers = join(folder, key);
    if (there.includes(key) && (await newestOf(answers, await namesIn(answers))) <= newest)
      left.push(answers);
  }
  return left;
};

/**
 * Returns the time of the newest file, in milliseconds. Ignores folders: removing a file changes their time.
 */
const newestOf = async (directory: string, names: readonly string[]): Promise<number> => {
  let newest = Number.NEGATIVE_INFINITY;
  for (const file of names.map((name) => join(directory, name))) {
    const found = await unlessMissing(file, stat(file));
    if (found?.isFile()) newest = Math.max(newest, found.mtimeMs);
  }
  return newest;
};

export const removeAll = async (directories: readonly string[]): Promise<void> => {
  for (const directory of directories) await rm(directory, { recursive: true, force: true });
};
