import { LayerloomError } from '../../core/base/errors/errors.js';
import { nearest } from '../../core/base/nearest.js';
import { Board, type TableOptions } from './boards/board.js';
import { ablationLayers, ablationTransition } from './layouts/ablations.js';
import { alpha } from './layouts/alpha.js';
import { comparisons } from './layouts/comparisons.js';
import { gains, wins } from './layouts/gains.js';
import { equivalence, surpass } from './layouts/grid.js';
import { intervals } from './layouts/intervals.js';
import { models } from './layouts/models.js';
import { patterns } from './layouts/patterns.js';
import { ranks } from './layouts/ranks.js';
import { regressions } from './layouts/regressions.js';
import { reverted } from './layouts/reverted.js';
import { plan, samples } from './layouts/samples.js';
import { datasets, training } from './layouts/training.js';
import { windows } from './layouts/windows.js';
import { hasCells, type ScoreTable, type TableRow } from './reading/score-table.js';
import type { ScoredExperiment } from './reading/scored-experiment.js';

export type Layouts = Readonly<Record<string, (board: Board) => ScoreTable[]>>;

export const generalLayouts = {
  'ablation-layers': ablationLayers,
  'ablation-transition': ablationTransition,
  equivalence,
  surpass,
  ranks,
  reverted,
  alpha,
  windows,
  gains,
  wins,
  regressions,
  patterns,
  comparisons,
  intervals,
  samples,
  plan,
  models,
  datasets,
  training,
} as const satisfies Layouts;

/**
 * Returns the requested tables of an experiment, else all with a filled cell, in the order of `layouts`.
 * Figures without a model or a score are empty. A name with a subject (`table-2/swahili`) gives that table
 * alone.
 *
 * @throws INVALID_PARAMETER for an unknown table
 */
export const tablesOf = (
  experiment: ScoredExperiment,
  layouts: Layouts,
  options: TableOptions = {},
): ScoreTable[] => tablesOn(new Board(experiment, options), layouts, options.tables);

export const tablesOn = (
  board: Board,
  layouts: Layouts,
  wanted: readonly string[] = Object.keys(layouts),
): ScoreTable[] => {
  const names = Object.keys(layouts);
  const layoutNames = new Map(wanted.map((table) => [table, layoutOf(table, names)]));
  const asked = Object.entries(layouts).filter(([name]) => [...layoutNames.values()].includes(name));
  const tables = asked.flatMap(([, layout]) =>
    layout(board).map((table) => ({ ...table, notes: [...table.notes, ...flagNotes(table)] })),
  );
  const filled = tables
    .filter(hasCells)
    .filter(({ id }) =>
      wanted.some((table) => id === table || (layoutNames.get(table) === table && id.startsWith(table))),
    );
  const [first, ...others] = filled;
  // Layouts share groups, so a refusal belongs to no single table; the first table shows them all.
  if (first === undefined) return [];
  const notes = [...first.notes, ...(board.experiment.caveats ?? []).map((caveat) => `${caveat}.`)];
  return [{ ...first, notes, refusals: board.takeRefusals() }, ...others];
};

const layoutOf = (table: string, names: readonly string[]): string => {
  const [layout = ''] = table.split('/');
  if (names.includes(layout)) return layout;
  const near = nearest(layout, names);
  throw new LayerloomError('INVALID_PARAMETER', {
    parameter: 'table',
    value: table,
    expected: names.join(', '),
    nearest: near,
  });
};

/** Returns the flags of cells as notes, for plain-text formats. */
const flagNotes = ({ rows, columns }: ScoreTable): string[] =>
  rows.flatMap(({ label, cells }: TableRow) =>
    cells.flatMap((cell, at) =>
      cell?.flag === undefined ? [] : [`${label}, ${columns[at]?.label}: ${cell.flag}.`],
    ),
  );
