import { join, resolve } from 'node:path';
import type { ComponentType } from 'preact';
import { LayerloomError } from '../../../core/base/errors/errors.js';
import { itemAt, valueAt } from '../../../core/base/errors/lookup.js';
import { capitalised } from '../../../core/base/format.js';
import type { TopOverlap } from '../../../core/measure/analysis/advice/top-overlap.js';
import type { Overlap } from '../../../core/measure/analysis/overlap.js';
import { recordName } from '../../batch/planning/record-names.js';
import { Board } from '../../scores/boards/board.js';
import { alpha } from '../../scores/layouts/alpha.js';
import { gains } from '../../scores/layouts/gains.js';
import { hasCells, type ScoreTable } from '../../scores/reading/score-table.js';
import type { ScoredExperiment } from '../../scores/reading/scored-experiment.js';
import { readAnalysis } from '../analysis/analysis-data.js';
import { layOut, placeOf, short } from '../components/charts/grids.js';
import type { Band, PageGrid, PageTask } from '../components/data/data.js';
import { showScore } from '../components/data/numbers.js';
import { ConfigurationsPicture } from '../pictures/configurations.js';
import { CurvesPicture, linesOf } from '../pictures/curves.js';
import { drawPicture } from '../pictures/draw-picture.js';
import { baselines, GainsPicture, panelsOf } from '../pictures/gains.js';
import { describeRows, HeatMap } from '../pictures/heat-map.js';
import { OverlapPicture, TopOverlapPicture } from '../pictures/overlap.js';
import { StacksPicture } from '../pictures/stacks.js';
import { csvScores } from '../score-table/csv.js';
import { gridsOf } from './grid-data.js';
import { bandsOf } from './layer-bands.js';
import { analysisTables, gridTable, layersTable } from './picture-tables.js';
import { tasksOf } from './result-data.js';
import { StringPool } from './string-pool.js';
import { layersOf, rolesIn, writePage } from './write-report.js';

/** Options of `draw`. */
export interface DrawOptions {
  /** Directory for pictures and their numbers. */
  out: string;
  /** Replace existing files; default false. */
  force?: boolean | undefined;
}

/** A picture and its numbers, as file names. */
export interface DrawnPicture {
  readonly title: string;
  readonly svg: string;
  readonly csv: string;
}

/** Result of `draw`. */
export interface Drawn {
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
 * Draws a study's pictures as SVG, each with a CSV of its numbers: layers of swaps, gains over the base and
 * over the best single expert, scores along task vectors, and grids of configurations. From an analysis in
 * the study, also draws experts' changes and their overlaps.
 *
 * @throws EXPERIMENT_INVALID without scores; OUTPUT_EXISTS, WRITE_FAILED
 */
export const drawStudy = async (
  experiment: ScoredExperiment,
  { out, force = false }: DrawOptions,
): Promise<Drawn> => {
  const board = new Board(experiment);
  const tasks = tasksOf(board, 0, new StringPool());
  const pictures = [
    ...(await layerPictures(experiment)),
    ...gains(board).filter(hasCells).flatMap(gainPictures),
    ...alpha(board).filter(hasCells).flatMap(curvePictures),
    ...gridsOf(board, tasks).flatMap((grid) => gridPicture(grid, tasks[grid.task]?.page)),
    ...(await analysisPictures(experiment)),
  ];
  if (pictures.length === 0)
    throw new LayerloomError('EXPERIMENT_INVALID', {
      file: join(experiment.directory ?? '', recordName),
      reason: 'names no scores and no swap, and has no analysis, so there is nothing to draw',
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

const fileName = (...parts: readonly string[]): string => parts.join('-').replace(/[^\p{L}\p{N}._-]+/gu, '-');

const gainPictures = (table: ScoreTable): Made[] =>
  Object.entries(baselines).flatMap(([baseline, words]) => {
    const panels = panelsOf(table, baseline);
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
      title: `${capitalised(language)}: configurations of ${entry}`,
      subtitle: `${task.name}, mean over the pairs; the best of many may be best by chance`,
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

const mostStacks = 8;

/** Draws the swaps of the first pair: all if few, else the default and the swaps of fewest and most layers. */
const layerPictures = async ({ directory, models }: ScoredExperiment): Promise<Made[]> => {
  if (directory === null) return [];
  const swaps = models.filter(({ role, method }) => role === 'merge' && method === 'layer_swap');
  const paths = swaps.flatMap(({ path }) => path ?? []);
  const layers = await layersOf(directory, paths);
  const [first] = swaps;
  const stacks = swaps
    .filter((swap) => swap.task === first?.task && swap.languageExpert === first?.languageExpert)
    .map((swap) => ({ name: swap.variant ?? swap.name, swap, ...bandsOf(swap, layers) }))
    .filter(({ bands }) => bands.some(({ from }) => from !== 'mixed'));
  const shown = stacks.length > mostStacks ? endsOf(stacks) : stacks;
  if (shown.length === 0) return [];
  const title = 'Layers of swaps';
  const pair = [first?.task, first?.languageExpert].filter((name) => name !== null).join(' and ');
  const left = stacks.length - shown.length;
  const subtitle = `${pair}${left === 0 ? '' : `; the default, and those with the fewest and the most swapped layers of ${stacks.length}`}`;
  return [made('layers', layersTable({ models: shown }), StacksPicture, { title, subtitle, stacks: shown })];
};

const endsOf = <Stack extends { readonly name: string; readonly bands: readonly Band[] }>(
  stacks: readonly Stack[],
): Stack[] => {
  const own = ({ bands }: Stack) =>
    bands.reduce((sum, { first, last, from }) => sum + (from === 'task' ? 0 : last - first + 1), 0);
  const ordered = stacks.toSorted((a, b) => own(a) - own(b));
  const usual = stacks.filter(({ name }) => name === 'default').slice(0, 1);
  return [...new Set([...usual, ...ordered.slice(0, 1), ...ordered.slice(-1)])];
};

const curvePictures = (table: ScoreTable): Made[] =>
  table.id.endsWith('/differences')
    ? []
    : [...linesOf(table)].map(([language, lines]) => {
        const rows = table.rows.filter(({ id }) => id.split('/')[0] === language);
        const title = `${capitalised(language)}: scores along task vectors`;
        const subtitle = 'base + α·τ; straight lines: gains proportional to α';
        return made(fileName(...table.id.split('/'), language), { ...table, rows }, CurvesPicture, {
          ...{ title, subtitle, lines },
        });
      });

const analysisPictures = async (experiment: ScoredExperiment): Promise<Made[]> => {
  const { directory } = experiment;
  const analysis =
    directory === null ? null : await readAnalysis(join(directory, 'analysis'), rolesIn(experiment));
  if (analysis === null) return [];
  const { experts, overlaps, topOverlaps, stops, rows, base } = analysis;
  const tables = new Map(analysisTables(analysis).map((table) => [table.id, table]));
  const shares = experts.map(({ cells, analysed }) =>
    cells.map((row) => row.map((cell) => cell && itemAt(cell.above, analysed) / cell.rows)),
  );
  const most = Math.max(1e-6, ...shares.flat(2).map((share) => share ?? 0));
  return [
    ...experts.map(({ name, columns, analysed }, at) =>
      made(fileName('changes', name), valueAt(tables, `experts/${name}`), HeatMap, {
        title: name,
        subtitle: describeRows({ rows, base, threshold: itemAt(stops, analysed) }),
        columns: columns.map(({ label }) => label),
        cells: itemAt(shares, at),
        most,
      }),
    ),
    ...overlaps.map((overlap) => ofPair('overlaps', OverlapPicture, overlap, tables)),
    ...topOverlaps.map((overlap) => ofPair('top-overlaps', TopOverlapPicture, overlap, tables)),
  ];
};

const ofPair = <Pair extends Overlap | TopOverlap>(
  kind: string,
  Drawing: ComponentType<{ overlap: Pair }>,
  overlap: Pair,
  tables: ReadonlyMap<string, ScoreTable>,
): Made => {
  const table = valueAt(tables, `${kind}/${overlap.experts.join('+')}`);
  const svg = drawPicture(Drawing, { overlap });
  return { name: fileName(kind, ...overlap.experts), title: table.title, svg, table };
};
