import { argument, layerloomCommand } from '../../../core/base/errors/command-line.js';
import { optionName } from '../../../core/base/errors/option-name.js';
import { counted, formatBytes, formatSeconds } from '../../../core/base/format.js';
import { plainTable } from '../../../core/base/table.js';
import type { MergeRecord, Scored } from '../../../study/experiment/record/experiment-record.js';
import type { EvaluationOutcome } from '../../../study/experiment/scoring/evaluate-experiment.js';
import type { EvaluationProgress } from '../../../study/experiment/scoring/evaluation-options.js';
import type { ImportOutcome } from '../../../study/experiment/scoring/import-results.js';
import type { EvaluationPlan, ScoringTime } from '../../../study/experiment/scoring/plan-evaluation.js';
import { fixed } from '../../../study/scores/reading/score-table.js';
import { inPlaceRows } from './in-place-text.js';

const figure = (value: number | null, error: number | null | undefined): string => {
  if (value === null) return '–';
  return error === null || error === undefined ? fixed(value, 4) : `${fixed(value, 4)} ± ${fixed(error, 4)}`;
};

/** Returns the harness's name of a metric's standard error, `METRIC_stderr,FILTER`. */
const errorName = (metric: string): string => metric.replace(',', '_stderr,');

const rowsOf = ({ name, scores = {} }: Scored & Pick<MergeRecord, 'name'>): string[][] =>
  Object.entries(scores).flatMap(([task, { n, metrics }]) =>
    Object.entries(metrics)
      .filter(([metric]) => !metric.includes('_stderr,'))
      .map(([metric, value]) => [name, task, metric, figure(value, metrics[errorName(metric)]), String(n)]),
  );

/** Returns the first failure of each model, because a run's tasks fail together. */
export const failedModels = (failed: EvaluationOutcome['failed']): EvaluationOutcome['failed'][number][] =>
  [...new Map([...failed].reverse().map((failure) => [failure.model, failure])).values()].reverse();

export const describeEvaluation = (outcome: EvaluationOutcome): string => {
  const { directory, scored, kept, results, missing, seconds, weights, inPlace, experiment } = outcome;
  const about = new Set([...scored, ...kept]);
  const rows = [...experiment.references, ...experiment.merges]
    .filter(({ name }) => about.has(name))
    .flatMap(rowsOf);
  return [
    ...(rows.length === 0
      ? []
      : [plainTable([['model', 'task', 'metric,filter', 'score', 'n'], ...rows], 3), '']),
    directory,
    `${counted(results.made, 'score')} made, ${results.there} existed, in ${formatSeconds(seconds)}`,
    ...(weights.ofModels === 0
      ? []
      : [
          `  ${formatBytes(weights.loaded)} of weights loaded, for models of ${formatBytes(weights.ofModels)}`,
        ]),
    ...(inPlace === null || inPlace.merges === 0
      ? []
      : [
          `  ${counted(inPlace.merges, 'merge')} not written, ${formatBytes(inPlace.bytes)} made to score them and removed; write one: ${layerloomCommand('batch', 'EXPERIMENT.yaml', '-o', argument(directory), '--resume', '--write', 'NAME')}`,
        ]),
    ...(missing.length === 0 ? [] : [`  not made yet: ${missing.join(', ')}`]),
  ].join('\n');
};

export const describeImport = ({ directory, imported }: ImportOutcome): string =>
  [
    ...(imported.length === 0
      ? []
      : [plainTable(imported.map(({ model, task, file }) => [model, task, file])), '']),
    directory,
    `${counted(imported.length, 'result')} imported`,
  ].join('\n');

const mostNamed = 3;

export const describeScoring = ({
  done,
  failed,
  total,
  running,
  waiting,
  requests,
  secondsLeft,
}: EvaluationProgress): string => {
  const of = new Map(requests.map((each) => [each.model, ` (${each.done} of ${each.total} requests)`]));
  const named = running.map((name) => `${name}${of.get(name) ?? ''}`);
  const more = named.length > mostNamed ? ` and ${named.length - mostNamed} more` : '';
  return [
    `${done} of ${counted(total, 'model')} done${failed === 0 ? '' : `, ${failed} of them failed`}`,
    ...(secondsLeft === null || secondsLeft === 0 ? [] : [`${formatSeconds(secondsLeft)} left`]),
    ...(named.length === 0 ? [] : [`scoring ${named.slice(0, mostNamed).join(', ')}${more}`]),
    ...(named.length === 0 && waiting > 0 ? [`waiting for ${waiting}`] : []),
  ].join('; ');
};

const known = (value: number | null, text: (value: number) => string): string =>
  value === null ? '–' : text(value);

export const scoringTable = ({ tasks }: ScoringTime): string =>
  plainTable(
    [
      ['task', 'models', 'problems', 'a problem', 'one at a time'],
      ...tasks.map(({ task, models, problems, secondsPerProblem, seconds }) => [
        task,
        String(models),
        known(problems, String),
        known(secondsPerProblem, formatShort),
        known(seconds, formatSeconds),
      ]),
    ],
    1,
  );

const formatShort = (seconds: number): string =>
  seconds < 1 ? `${Number((1000 * seconds).toPrecision(2))} ms` : formatSeconds(seconds);

export const scoringTimeLine = ({ tasks, jobs, seconds, measured }: ScoringTime, measure: string): string => {
  if (seconds !== null)
    return `time to score: ${formatSeconds(seconds)} with ${counted(jobs, 'model')} at once, by ${counted(measured, 'result')} of this directory`;
  const unknown = tasks.flatMap(({ task, seconds: own }) => (own === null ? [task] : []));
  return `time to score: unknown, because ${unknown.join(', ')} was not measured here; to measure: ${measure}`;
};

const mostInOrder = 6;

const orderLines = ({ order, weights }: EvaluationPlan): string[] => {
  if (order.length < 2) return [];
  const names = order.slice(0, mostInOrder).map(({ name }) => name);
  const more = order.length - names.length;
  return [
    ...(weights === null
      ? []
      : [
          `weights to load: ${formatBytes(weights.loaded)}, for models of ${formatBytes(weights.ofModels)}; ${counted(weights.whole, 'model')} whole, of ${weights.exchanged} only what differs`,
        ]),
    `order: ${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`,
  ];
};

/** @param directory the experiment's; undefined for models without an experiment */
export const describeEvaluationPlan = (plan: EvaluationPlan, directory?: string): string => {
  const { models, kept, unchecked } = plan;
  const away = models.filter(({ isThere }) => !isThere);
  const [first] = models.filter(({ isThere }) => isThere);
  const measure =
    first === undefined
      ? 'a first score'
      : directory === undefined
        ? `the same command with ${optionName('limit', '20')}`
        : `\`${layerloomCommand('evaluate', argument(directory), '--only', argument(first.name), '--limit', '20')}\``;
  return [
    plan.directory,
    `${counted(models.length, 'model')} to score; ${kept} ${kept === 1 ? 'has' : 'have'} all results`,
    ...(away.length === 0 ? [] : [`not made yet, scored when a batch has made them: ${away.length}`]),
    ...(plan.inPlace === null ? [] : inPlaceRows(plan.inPlace).map((row) => row.join(' ').trim())),
    ...(models.length === 0 ? [] : ['', scoringTable(plan), '', scoringTimeLine(plan, measure)]),
    ...orderLines(plan),
    ...(unchecked.length === 0
      ? []
      : [`not checked, because lm_eval is not installed here: the names of ${unchecked.join(', ')}`]),
  ].join('\n');
};
