import type { MergeRecord, Scored } from '../../experiment/record/experiment-record.js';
import type { EvaluationOutcome } from '../../experiment/scoring/evaluate-experiment.js';
import type { ImportOutcome } from '../../experiment/scoring/import-results.js';
import { counted, formatSeconds } from './format.js';
import { plainTable } from './table.js';

const figure = (value: number | null, error: number | null | undefined): string => {
  if (value === null) return '–';
  return error === null || error === undefined
    ? value.toFixed(4)
    : `${value.toFixed(4)} ± ${error.toFixed(4)}`;
};

/** The standard error of a metric, which the harness names `METRIC_stderr,FILTER`. */
const errorName = (metric: string): string => metric.replace(',', '_stderr,');

const rowsOf = ({ name, scores = {} }: Scored & Pick<MergeRecord, 'name'>): string[][] =>
  Object.entries(scores).flatMap(([task, { n, metrics }]) =>
    Object.entries(metrics)
      .filter(([metric]) => !metric.includes('_stderr,'))
      .map(([metric, value]) => [name, task, metric, figure(value, metrics[errorName(metric)]), String(n)]),
  );

/** Returns each failed model once, with its first error: the tasks of a run fail together. */
export const failedModels = (failed: EvaluationOutcome['failed']): EvaluationOutcome['failed'][number][] =>
  [...new Map([...failed].reverse().map((failure) => [failure.model, failure])).values()].reverse();

/** Formats the end of an evaluation for the terminal: all scores of the models that it was about. */
export const describeEvaluation = (outcome: EvaluationOutcome): string => {
  const { directory, scored, kept, results, failed, missing, seconds, experiment } = outcome;
  const about = new Set([...scored, ...kept]);
  const rows = [...experiment.references, ...experiment.merges]
    .filter(({ name }) => about.has(name))
    .flatMap(rowsOf);
  return [
    ...(rows.length === 0
      ? []
      : [plainTable([['model', 'task', 'metric,filter', 'score', 'n'], ...rows], 3), '']),
    directory,
    `${counted(results.made, 'score')} made, ${results.there} there before, in ${formatSeconds(seconds)}`,
    ...(missing.length === 0 ? [] : [`  not there yet: ${missing.join(', ')}`]),
    ...failedModels(failed).map(({ message }) => `  failed: ${message}`),
  ].join('\n');
};

/** Formats the end of an import for the terminal. */
export const describeImport = ({ directory, imported, failed }: ImportOutcome): string =>
  [
    ...(imported.length === 0
      ? []
      : [plainTable(imported.map(({ model, task, file }) => [model, task, file])), '']),
    directory,
    `${imported.length} results imported`,
    ...failed.map(({ message }) => `  failed: ${message}`),
  ].join('\n');
