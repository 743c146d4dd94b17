import { backendOf } from '../../../evaluation/harness/harness-output.js';
import type { FoundResult } from '../../../evaluation/result-files.js';
import type { EvaluationSettings } from '../../../evaluation/settings.js';

/** The back end with the other settings that may change answers. */
export const backendIn = ({ backend, modelArgs, arguments: others }: EvaluationSettings): string =>
  [backendOf(backend, modelArgs), ...others].join(' ');

/** Returns the result that matches the settings. */
export const resultOf = (
  results: readonly FoundResult[],
  weights: string,
  task: string,
  settings: EvaluationSettings,
): FoundResult | undefined =>
  results.find(
    ({ result }) =>
      result.weights === weights &&
      result.task === task &&
      result.fewshot === (settings.fewshotOf(task) ?? result.fewshot) &&
      result.seed === settings.seed &&
      result.maxTokens === settings.maxTokensOf(task) &&
      String(result.rows) === String(settings.rowsOf(task)) &&
      (result.source === 'imported' || result.backend === backendIn(settings)),
  );
