import { groupBy } from '../../../core/base/errors/lookup.js';
import type { Board, Subject } from '../boards/board.js';
import { idOf, modelCell } from '../boards/cells.js';
import { type ScoreTable, type TableRow, tableOf } from '../reading/score-table.js';
import type { ScoredModel } from '../reading/scored-experiment.js';
import { differences, type Sides } from './differences.js';
import { benchmarkNotes } from './notes.js';

interface Window {
  readonly model: ScoredModel;
  readonly run: string;
  readonly until: number;
  /** Merge's name without the last step: `windows/wsm-last3`. */
  readonly variant: string;
}

/** Tabulates windows of training runs by last step, with that step's checkpoint and the gain over it. */
export const windows = (board: Board): ScoreTable[] => {
  const found = board.experiment.models.flatMap((model) => windowOf(model) ?? []);
  const tasks = found.length === 0 ? [] : [...board.experiment.tasks.keys()];
  return board.benchmarks.flatMap((benchmark) =>
    tasks.flatMap((language) => {
      const subject = board.subject(benchmark, language);
      return subject === undefined ? [] : tablesIn(board, subject, found);
    }),
  );
};

const windowOf = (model: ScoredModel): Window | undefined => {
  const { until } = model.configuration;
  if (model.method !== 'soup' || model.task === null || model.variant === null || typeof until !== 'number')
    return undefined;
  const variant = model.variant.replace(/[-/]to\d+$/, '');
  return { model, run: model.task, until, variant };
};

const tablesIn = (board: Board, subject: Subject, found: readonly Window[]): ScoreTable[] => {
  const steps = [...new Set(found.map(({ until }) => until))].sort((a, b) => a - b);
  const checkpointOf = ({ run, until }: Pick<Window, 'run' | 'until'>) =>
    board.experiment.models.find(({ role, name }) => role === 'checkpoint' && name === `${run}-${until}`);
  const rowOf = (
    id: string,
    label: string,
    modelAt: (step: number) => ScoredModel | undefined,
  ): TableRow => ({
    id,
    label,
    cells: steps.map((step) => {
      const model = modelAt(step);
      const [score] = model === undefined ? [] : board.scores([model], subject);
      return score === undefined ? null : modelCell(score, subject.scale);
    }),
  });
  const byRun = groupBy(found, ({ run }) => run);
  const rows = [...byRun].flatMap(([run, of]) => [
    rowOf(`${run}/checkpoint`, `${run}: single checkpoint`, (until) => checkpointOf({ run, until })),
    ...[...groupBy(of, ({ variant }) => variant)].map(([variant, same]) =>
      rowOf(
        `${run}/${variant}`,
        `${run}: ${variant}`,
        (step) => same.find(({ until }) => until === step)?.model,
      ),
    ),
  ]);
  const id = `${idOf('windows', subject.benchmark)}/${subject.language}`;
  const title = `${subject.benchmark}, ${subject.language}: windows of checkpoints`;
  const scores: ScoreTable = tableOf({
    id,
    title,
    caption:
      'Scores of averages of checkpoints, by the step of the last checkpoint, and scores of that checkpoint alone.',
    notes: benchmarkNotes(board, subject.benchmark, { languages: [] }),
    columns: steps.map((step) => ({ id: String(step), label: String(step), kind: 'number' as const })),
    rows: rows.filter(({ cells }) => cells.some((cell) => cell !== null)),
  });
  const compared = differences(board, {
    of: id,
    title: `${title}, differences`,
    caption:
      'Each average minus its last checkpoint alone: mean over the steps for which both exist, on the same problems, with 95 % interval and two-sided p.',
    subjects: [subject],
    contrasts: [...byRun].flatMap(([run, of]) =>
      [...groupBy(of, ({ variant }) => variant)].map(([variant, same]) => ({
        id: `${run}/${variant}`,
        label: `${run}: ${variant}, minus single checkpoints`,
        sides: ({ task }) => withCheckpoints(same, checkpointOf, task),
      })),
    ),
  });
  return [scores, compared];
};

const withCheckpoints = (
  windowsOfOne: readonly Window[],
  checkpointOf: (window: Window) => ScoredModel | undefined,
  task: string,
): Sides => {
  const both = windowsOfOne.flatMap((window) => {
    const checkpoint = checkpointOf(window);
    const areScored = window.model.results.has(task) && checkpoint?.results.has(task) === true;
    return areScored ? [{ window: window.model, checkpoint }] : [];
  });
  return [both.map(({ window }) => window), both.map(({ checkpoint }) => checkpoint)];
};
