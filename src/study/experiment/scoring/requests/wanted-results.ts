import { groupBy } from '../../../../core/base/errors/lookup.js';
import { backendOf } from '../../../evaluation/harness/harness-output.js';
import type { FoundResult } from '../../../evaluation/result-files.js';
import type { EvaluationSettings, Rows } from '../../../evaluation/settings.js';

/** Returns the back end, with other settings that may change answers. */
export const backendIn = ({ backend, modelArgs, arguments: others }: EvaluationSettings): string =>
  [backendOf(backend, modelArgs), ...others].join(' ');

/** Run of the harness with one answer to each problem of a task. */
export interface TaskSample {
  readonly task: string;
  readonly sample: number;
}

export const samplesOf = (task: string, settings: EvaluationSettings): TaskSample[] =>
  Array.from({ length: settings.repeatsOf(task) }, (_, sample) => ({ task, sample }));

/**
 * Returns a text that is equal for answers to the same problems under the same settings. Only such answers
 * are combined into a score.
 */
export const askedAlike = ({
  result: { rows, n, taskVersion, promptHash, fewshot, backend },
}: FoundResult): string => JSON.stringify([rows?.[0] ?? 0, n, taskVersion, promptHash, fewshot, backend]);

/** True if a result has the wanted rows. A limit above the number of rows means all rows. */
export const haveRows = ({ rows, n }: FoundResult['result'], wanted: Rows | null): boolean => {
  if (String(rows) === String(wanted)) return true;
  const areAll = n > 0 && (rows === null || (rows[0] === 0 && rows[1] > n));
  return areAll && (wanted === null || (wanted[0] === 0 && wanted[1] >= n));
};

/**
 * Returns the results that match the settings, one per sample. Prefers a complete set of equal settings.
 * Otherwise returns the newest results of this back end, which a run can complete.
 */
export const resultsOf = (
  results: readonly FoundResult[],
  weights: string,
  task: string,
  settings: EvaluationSettings,
): FoundResult[] => {
  const samples = samplesOf(task, settings);
  const own = backendIn(settings);
  const wanted = results.filter(
    ({ result }) =>
      result.weights === weights &&
      result.task === task &&
      result.fewshot === (settings.fewshotOf(task) ?? result.fewshot) &&
      result.maxTokens === settings.maxTokensOf(task) &&
      result.sampling === settings.samplingTextOf(task) &&
      haveRows(result, settings.rowsOf(task)) &&
      (result.source === 'imported' || result.backend === own),
  );
  const sets = [...groupBy(wanted, askedAlike).values()]
    .map((set) =>
      samples.flatMap(
        ({ sample }) => set.find(({ result }) => result.seed === settings.seedOf(sample)) ?? [],
      ),
    )
    .filter((set) => set.length > 0)
    .toSorted((a, b) => (startOf(a) < startOf(b) ? 1 : -1));
  return (
    sets.find((set) => set.length === samples.length) ??
    sets.find((set) => set.some(({ result }) => result.backend === own)) ??
    []
  );
};

const startOf = (set: readonly FoundResult[]): string =>
  set
    .map(({ result }) => result.started)
    .sort()
    .at(-1) ?? '';

export const lackingSamples = (
  results: readonly FoundResult[],
  weights: string,
  task: string,
  settings: EvaluationSettings,
): TaskSample[] => {
  const there = new Set(resultsOf(results, weights, task, settings).map(({ result }) => result.seed));
  return samplesOf(task, settings).filter(({ sample }) => !there.has(settings.seedOf(sample)));
};
