import { LayerloomError } from '../base/errors.js';
import { nearest } from '../recipe/nearest.js';
import { Board, type TableOptions } from './board.js';
import { ablationLayers, ablationTransition } from './layouts/ablations.js';
import { comparisons } from './layouts/comparisons.js';
import { gains, wins } from './layouts/gains.js';
import { intervals } from './layouts/intervals.js';
import { models } from './layouts/models.js';
import { patterns } from './layouts/patterns.js';
import { regressions } from './layouts/regressions.js';
import { reverted } from './layouts/reverted.js';
import { table1 } from './layouts/table-1.js';
import { table2 } from './layouts/table-2.js';
import { table5 } from './layouts/table-5.js';
import { table6 } from './layouts/table-6.js';
import { hasCells, type ScoreTable, type TableRow } from './score-table.js';
import type { ScoredExperiment } from './scored-experiment.js';

/** The layouts, in the order in which tables are given. */
const layouts = {
  'table-1': table1,
  'table-2': table2,
  'table-5': table5,
  'table-6': table6,
  'ablation-layers': ablationLayers,
  'ablation-transition': ablationTransition,
  reverted,
  gains,
  wins,
  regressions,
  patterns,
  comparisons,
  intervals,
  models,
} as const satisfies Record<string, (board: Board) => ScoreTable[]>;

export type TableName = keyof typeof layouts;

export const tableNames = Object.keys(layouts) as TableName[];

/**
 * Returns an experiment's tables: those asked for, else all, of which any cell is filled. Figures without a model or
 * a score are empty. A name with a subject (`table-2/swahili`) gives that table alone.
 *
 * @throws LayerloomError INVALID_PARAMETER for an unknown table
 */
export const tablesOf = (experiment: ScoredExperiment, options: TableOptions = {}): ScoreTable[] => {
  const board = new Board(experiment, options);
  const wanted = options.tables ?? tableNames;
  const asked = tableNames.filter((name) => wanted.some((table) => layoutOf(table) === name));
  const tables = asked.flatMap((name) =>
    layouts[name](board).map((table) => ({ ...table, notes: [...table.notes, ...flagNotes(table)] })),
  );
  const filled = tables
    .filter(hasCells)
    .filter(({ id }) =>
      wanted.some((table) => id === table || (layoutOf(table) === table && id.startsWith(table))),
    );
  const [first, ...others] = filled;
  // Groups are shared between layouts, so that a refusal belongs to no table of its own.
  return first === undefined ? [] : [{ ...first, refusals: board.takeRefusals() }, ...others];
};

const layoutOf = (table: string): TableName => {
  const [layout = ''] = table.split('/');
  if (Object.hasOwn(layouts, layout)) return layout as TableName;
  const near = nearest(layout, tableNames);
  throw new LayerloomError('INVALID_PARAMETER', {
    parameter: 'table',
    value: table,
    expected: tableNames.join(', '),
    nearest: near,
  });
};

/** Returns the doubts about figures as notes, since formats of plain text have no other place for them. */
const flagNotes = ({ rows, columns }: ScoreTable): string[] =>
  rows.flatMap(({ label, cells }: TableRow) =>
    cells.flatMap((cell, at) =>
      cell?.flag === undefined ? [] : [`${label}, ${columns[at]?.label}: ${cell.flag}.`],
    ),
  );
