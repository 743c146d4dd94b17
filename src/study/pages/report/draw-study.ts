import { join, resolve } from 'node:path';
import type { ComponentType } from 'preact';
import { LayerloomError } from '../../../core/base/errors/errors.js';
import { recordName } from '../../batch/planning/record-names.js';
import { Board } from '../../scores/boards/board.js';
import { gains } from '../../scores/layouts/gains.js';
import { hasCells, type ScoreTable } from '../../scores/reading/score-table.js';
import type { ScoredExperiment } from '../../scores/reading/scored-experiment.js';
import { methodsOf } from '../components/charts/gains.js';
import { layOut, placeOf, short } from '../components/charts/grids.js';
import type { PageGrid, PageTask } from '../components/data/data.js';
import { showScore } from '../components/data/numbers.js';
import { named } from '../components/data/results.js';
import { ConfigurationsPicture } from '../pictures/configurations.js';
import { drawPicture } from '../pictures/draw-picture.js';
import { GainsPicture } from '../pictures/gains.js';
import { csvScores } from '../score-table/csv.js';
import { gridsOf } from './grid-data.js';
import { gridTable } from './picture-tables.js';
import { tasksOf } from './result-data.js';
import { StringPool } from './string-pool.js';
import { writePage } from './write-report.js';

/** Options of `draw`. */
export interface DrawOptions {
  /** The directory for pictures and their numbers. */
  out: string;
  /** Replace files. Default: false. */
  force?: boolean | undefined;
}

/** A picture and its numbers, each by its file's name. */
export interface DrawnPicture {
  readonly title: string;
  readonly svg: string;
  readonly csv: string;
}

/** Result of `draw`. */
export interface Drawn {
  /** Absolute path of the directory. */
  readonly out: string;
  readonly pictures: readonly DrawnPicture[];
  readonly warnings: readonly string[];
}

interface Made {
  readonly name: string;
  readonly title: string;
  readonly svg: string;
  readonly table: ScoreTable;
}

const made = <Props extends { readonly title: string }>(
  name: string,
  table: ScoreTable,
  Drawing: ComponentType<Props>,
  props: Props,
): Made => ({ name, title: props.title, svg: drawPicture(Drawing, props), table });

/**
 * Draws a study's pictures as SVG, each with a CSV of its numbers: gains over the base and over the best single
 * expert, and each grid of configurations.
 *
 * @throws LayerloomError EXPERIMENT_INVALID without scores; OUTPUT_EXISTS, WRITE_FAILED
 */
export const drawStudy = async (
  experiment: ScoredExperiment,
  { out, force = false }: DrawOptions,
): Promise<Drawn> => {
  const board = new Board(experiment);
  const tasks = tasksOf(board, 0, new StringPool()).map(({ page }) => page);
  const grids = gridsOf(board, tasksOf(board, 0, new StringPool()));
  const pictures = [
    ...gains(board).filter(hasCells).flatMap(gainPictures),
    ...grids.flatMap((grid) => gridPicture(grid, tasks[grid.task])),
  ];
  if (pictures.length === 0)
    throw new LayerloomError('EXPERIMENT_INVALID', {
      file: join(experiment.directory ?? '', recordName),
      reason: 'names no scores, so there is nothing to draw',
    });
  const written: DrawnPicture[] = [];
  for (const { name, title, svg, table } of pictures) {
    const files = { svg: `${name}.svg`, csv: `${name}.csv` };
    await writePage(join(out, files.svg), svg, force);
    await writePage(join(out, files.csv), `${csvScores([table])}\n`, force);
    written.push({ title, ...files });
  }
  return {
    out: resolve(out),
    pictures: written,
    warnings: [...experiment.warnings, ...board.takeRefusals()],
  };
};

/** Names files by letters, digits and hyphens alone. */
const fileName = (...parts: readonly string[]): string => parts.join('-').replace(/[^\p{L}\p{N}._-]+/gu, '-');

const baselines = { base: 'the base', expert: 'the best single expert' } as const;

const gainPictures = (table: ScoreTable): Made[] =>
  Object.entries(baselines).flatMap(([baseline, words]) => {
    const methods = methodsOf(table, baseline);
    const panels = table.columns.flatMap((column, at) => {
      if (column.id === 'mean' && table.columns.length < 3) return [];
      const bars = methods.flatMap(({ label, isReference, cells }) => {
        const cell = cells[at] ?? null;
        if (cell === null) return [];
        const { value, digits, interval } = cell;
        return [{ label, value: Number(value), digits, interval, isReference }];
      });
      const title = column.id === 'mean' ? 'Mean over the languages' : named(column.label);
      return bars.length === 0 ? [] : [{ title, bars }];
    });
    if (panels.length === 0) return [];
    const rows = table.rows.filter(({ id }) => id.split('/')[1] === baseline);
    return [
      made(fileName(...table.id.split('/'), 'over', baseline), { ...table, rows }, GainsPicture, {
        title: `Gain over ${words}`,
        subtitle: `${table.title}; means over pairs, in points or the metric's unit`,
        panels,
      }),
    ];
  });

const gridPicture = (grid: PageGrid, task: PageTask | undefined): Made[] => {
  if (task === undefined) return [];
  const { axes, cells, best, usual, entry, language } = grid;
  const { down, across, rows, columns } = layOut(grid);
  const labelsOf = (list: readonly number[], places: readonly (readonly number[])[]) =>
    places.map((place) =>
      list
        .map((axis, at) => `${short(axes[axis]?.name ?? '')} ${axes[axis]?.values[place[at] ?? 0]}`)
        .join(', '),
    );
  const indexOf = (places: readonly (readonly number[])[], place: readonly number[]) =>
    places.findIndex((one) => one.join() === place.join());
  return [
    made(fileName('configurations', language, entry), gridTable(grid, task), ConfigurationsPicture, {
      title: `${named(language)}: configurations of ${entry}`,
      subtitle: `${task.name}, mean over the pairs; the best of many is no proof of being better`,
      rows: labelsOf(down, rows),
      columns: labelsOf(across, columns),
      cells: cells.map((cell, at) => ({
        row: indexOf(rows, placeOf(cell, down)),
        column: indexOf(columns, placeOf(cell, across)),
        value: cell.value,
        text: showScore(cell.value, task).replace(/ ?%$/, ''),
        kind: at === best ? ('best' as const) : at === usual ? ('default' as const) : undefined,
      })),
    }),
  ];
};
