import { backendOf } from '../../../evaluation/harness/harness-output.js';
import type { FoundResult } from '../../../evaluation/result-files.js';
import type { EvaluationSettings } from '../../../evaluation/settings.js';

/** The back end with the other settings that may change answers. */
export const backendIn = ({ backend, modelArgs, arguments: others }: EvaluationSettings): string =>
  [backendOf(backend, modelArgs), ...others].join(' ');

/** A run of the harness that draws an answer to each problem of a task. */
export interface TaskSample {
  readonly task: string;
  /** Counted from 0. */
  readonly sample: number;
}

export const samplesOf = (task: string, settings: EvaluationSettings): TaskSample[] =>
  Array.from({ length: settings.repeatsOf(task) }, (_, sample) => ({ task, sample }));

/** Returns the result that matches the settings. */
const resultOf = (
  results: readonly FoundResult[],
  weights: string,
  { task, sample }: TaskSample,
  settings: EvaluationSettings,
): FoundResult | undefined =>
  results.find(
    ({ result }) =>
      result.weights === weights &&
      result.task === task &&
      result.fewshot === (settings.fewshotOf(task) ?? result.fewshot) &&
      result.seed === settings.seedOf(sample) &&
      result.maxTokens === settings.maxTokensOf(task) &&
      result.sampling === settings.samplingTextOf(task) &&
      String(result.rows) === String(settings.rowsOf(task)) &&
      (result.source === 'imported' || result.backend === backendIn(settings)),
  );

/** Returns the results that match the settings, in the order of samples. */
export const resultsOf = (
  results: readonly FoundResult[],
  weights: string,
  task: string,
  settings: EvaluationSettings,
): FoundResult[] =>
  samplesOf(task, settings).flatMap((sample) => resultOf(results, weights, sample, settings) ?? []);

/** Returns the samples without a result. */
export const lackingSamples = (
  results: readonly FoundResult[],
  weights: string,
  task: string,
  settings: EvaluationSettings,
): TaskSample[] =>
  samplesOf(task, settings).filter((sample) => resultOf(results, weights, sample, settings) === undefined);
