import { itemAt } from '../../../core/base/errors/lookup.js';
import type { Drawn, EvaluationResult } from '../../evaluation/result.js';
import type { Board, Subject } from '../boards/board.js';
import { modelCell, numberCell, textCell } from '../boards/cells.js';
import { spreadOf } from '../intervals/crossed.js';
import { alignResults, columnOf } from '../reading/align.js';
import { aggregateOf } from '../reading/metrics.js';
import { type ModelScore, scoreOf } from '../reading/model-score.js';
import { type Cell, type ScoreTable, type TableRow, tableOf } from '../reading/score-table.js';
import { meanOf } from '../statistics/mean.js';

const number = (id: string, label = id) => ({ id, label, kind: 'number' as const });

/** Tabulates scores of models with several sampled answers per problem, in the form that papers use. */
export const samples = (board: Board): ScoreTable[] => [
  tableOf({
    id: 'samples',
    title: 'Sampled answers',
    caption: 'Scores over several answers to each problem.',
    notes: [
      'avg@k: mean over problems and answers. The standard error over problems includes the variance of sampling answers.',
      'SD, lowest and highest: over the scores of the k runs. A run has one answer to every problem.',
      'Drawing: the share of the variance of avg@k that more answers to the same problems would remove.',
    ],
    columns: [
      { id: 'task', label: 'task', kind: 'text' },
      number('k'),
      number('avg', 'avg@k'),
      number('sd', 'SD'),
      number('min', 'lowest'),
      number('max', 'highest'),
      number('pass', 'pass@k'),
      number('maj', 'maj@k'),
      number('drawing', 'drawing, %'),
    ],
    rows: tasksOf(board).flatMap((subject) =>
      board.experiment.models.flatMap((model) => {
        const score = scoreOf(model, subject.task, subject.metric);
        const runs = score?.result.drawn?.runs;
        // A single run has no pass@k or maj@k.
        const isOfRuns = runs?.every((metrics) => typeof metrics[subject.metric] === 'number');
        return score === undefined || runs === undefined || !isOfRuns ? [] : [rowOf(score, runs, subject)];
      }),
    ),
  }),
];

const tasksOf = ({ subjects }: Board): Subject[] => [
  ...new Map(subjects.map((subject) => [subject.task, subject])).values(),
];

const rowOf = (score: ModelScore, runs: Drawn['runs'], { task, metric, scale }: Subject): TableRow => {
  const { model, result } = score;
  const values = runs.flatMap((metrics) => metrics[metric] ?? []);
  const scaled = (value: number): Cell => numberCell(value * scale.factor, scale.digits);
  const filter = metric.includes(',') ? metric.slice(metric.indexOf(',')) : '';
  const derived = (name: string): Cell | null => {
    const value = result.metrics[`${name}@${runs.length}${filter}`];
    return value === undefined || value === null ? null : scaled(value);
  };
  const parts = varianceOf(result, metric);
  return {
    id: `${task}/${model.name}`,
    label: model.name,
    cells: [
      textCell(task),
      numberCell(runs.length, 0),
      modelCell(score, scale),
      scaled(Math.sqrt(varianceIn(values))),
      scaled(Math.min(...values)),
      scaled(Math.max(...values)),
      derived('pass'),
      derived('maj'),
      parts === undefined || parts.whole === 0
        ? null
        : numberCell((100 * Math.min(parts.whole, parts.drawing / parts.k)) / parts.whole, 0),
    ],
  };
};

interface Variances {
  readonly whole: number;
  /** Variance over answers to the same problem, averaged over problems. */
  readonly drawing: number;
  readonly k: number;
}

const varianceOf = (result: EvaluationResult, metric: string): Variances | undefined => {
  const { drawn } = result;
  const { sums, arePlain } = columnOf(result, metric) ?? { sums: [], arePlain: false };
  if (!arePlain || sums.length < 2 || !aggregateOf(metric, true).isMean) return undefined;
  if (drawn === undefined) return { whole: varianceIn(sums), drawing: Number.NaN, k: 1 };
  const drawing = drawn.variances.get(metric);
  if (drawing === undefined) return undefined;
  return { whole: varianceIn(sums), drawing: meanOf(drawing), k: drawn.runs.length };
};

const varianceIn = (values: ArrayLike<number>): number => values.length * spreadOf(values).variance;

const planned = [1, 2, 4, 8, 16, 32];

/** Normal quantile of 97.5 %. */
const wide = 1.959964;

/**
 * Tabulates how many problems a given precision needs, by number of answers per problem. The variances of
 * present scores give V(k) = between + drawing/k, and then n = (1.96/precision)² V(k).
 */
export const plan = (board: Board): ScoreTable[] => {
  const points = board.plan;
  if (points === undefined) return [];
  return [
    tableOf({
      id: 'plan',
      title: `Problems for ±${points}`,
      caption: `Number of problems for 95 % intervals of ± ${points}, by number of answers to each problem.`,
      notes: [
        'Score: for the score of one model, on average over the present models. Difference: for the difference between two models on the same problems, on average over the present pairs.',
        'If there is only one answer to each problem so far, other numbers of answers cannot be planned.',
      ],
      columns: [
        { id: 'task', label: 'task', kind: 'text' },
        number('k'),
        number('score', 'problems for a score'),
        number('difference', 'problems for a difference'),
      ],
      rows: tasksOf(board).flatMap((subject) => planRows(board, subject, points)),
    }),
  ];
};

/** Maximum number of models compared in pairs, in the experiment's order. */
const mostCompared = 50;

const planRows = (board: Board, { task, metric, scale, benchmark }: Subject, points: number): TableRow[] => {
  const results = board.experiment.models.flatMap((model) => scoreOf(model, task, metric)?.result ?? []);
  const alone = results.flatMap((result) => varianceOf(result, metric) ?? []);
  if (alone.length === 0 || !alone.every((one) => one.k === itemAt(alone, 0).k)) return [];
  const { k } = itemAt(alone, 0);
  const drawing = meanOf(alone.map((one) => one.drawing));
  const whole = meanOf(alone.map((one) => one.whole));
  const compared = results.slice(0, mostCompared);
  const pairs = board.attempt(() => {
    const { columns } = alignResults(compared, metric);
    return columns.flatMap(({ sums: a }, at) =>
      columns.slice(at + 1).map(({ sums: b }) => varianceIn(a.map((value, row) => value - itemAt(b, row)))),
    );
  });
  const problems = (variance: number): Cell | null => {
    if (!(variance > 0)) return null;
    return numberCell(Math.ceil((wide * (scale.factor / points)) ** 2 * variance), 0);
  };
  return planned
    .filter((count) => count === k || (k > 1 && count <= 2 * k))
    .concat(planned.includes(k) ? [] : [k])
    .sort((a, b) => a - b)
    .map((count) => {
      // The variance between problems is at least 0; its estimate may not be.
      const least = k === 1 ? 0 : drawing / count;
      const change = count === k ? 0 : least - drawing / k;
      return {
        id: `${task}/${count}`,
        label: `${benchmark}, k = ${count}`,
        cells: [
          textCell(task),
          numberCell(count, 0),
          problems(Math.max(least, whole + change)),
          pairs === undefined || pairs.length === 0
            ? null
            : problems(Math.max(2 * least, meanOf(pairs) + 2 * change)),
        ],
      };
    });
};
