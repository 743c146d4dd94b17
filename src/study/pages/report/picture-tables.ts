import { itemAt } from '../../../core/base/errors/lookup.js';
import { numberCell, textCell } from '../../scores/boards/cells.js';
import {
  type Cell,
  type ScoreTable,
  type TableColumn,
  type TableRow,
  tableOf,
} from '../../scores/reading/score-table.js';
import type {
  PageAnalysis,
  PageCell,
  PageExpert,
  PageGrid,
  PageModel,
  PageTable,
  PageTask,
  ReportData,
} from '../components/data/data.js';
import type { LayerFigures } from '../pictures/overlap.js';

const columnsOf =
  (kind: TableColumn['kind']) =>
  (labels: Readonly<Record<string, string>>): TableColumn[] =>
    Object.entries(labels).map(([id, label]) => ({ id, label, kind }));
const [numbers, texts] = [columnsOf('number'), columnsOf('text')];

const plain = (value: number | null | undefined): Cell | null =>
  value === null || value === undefined ? null : numberCell(value, 6);

const half = 'best, chosen on one half of the problems and scored on the other';

export const gridTable = (
  { entry, language, axes, cells, best, usual, otherHalf, finding }: PageGrid,
  { name, unit, digits }: PageTask,
): ScoreTable => {
  const factor = unit === 'percent' ? 100 : 1;
  return tableOf({
    id: `configurations/${language}/${entry}`,
    title: `${entry}, ${language}: configurations, ${name}`,
    caption: 'Mean over the pairs of each configuration.',
    notes: finding === null ? [] : [`The best compared with the default: ${finding.sentence}`],
    derived: otherHalf === null ? [] : [{ id: 'other-half', label: half, value: factor * otherHalf, digits }],
    columns: [
      ...axes.map(({ name: id }): TableColumn => ({ id, label: id, kind: 'text' })),
      ...numbers({ mean: 'mean' }),
      { id: 'default', label: 'default', kind: 'text' },
    ],
    rows: cells.map(({ at, variant, value, stderr, pairs }, index) => ({
      id: variant,
      label: variant,
      cells: [
        ...axes.map(({ values }, axis) => textCell(itemAt(values, itemAt(at, axis)))),
        numberCell(factor * value, digits, {
          n: pairs,
          ...(stderr === null ? {} : { stderr: factor * stderr }),
          ...(index === best ? { mark: 'best' as const } : {}),
        }),
        index === usual ? textCell('yes') : null,
      ],
    })),
  });
};

const costTable = ({ costs, models }: ReportData): ScoreTable =>
  tableOf({
    id: 'cost',
    title: 'Cost of each merge',
    caption: 'Bytes, seconds, and number of layers; scores are in the table “models”.',
    columns: costs.map(({ key, label }) => ({ id: key, label, kind: 'number' as const })),
    rows: models
      .filter(({ role }) => role === 'merge')
      .map(({ name, cost }) => ({
        id: name,
        label: name,
        cells: costs.map(({ key }) => {
          const value = cost[key];
          return value === undefined ? null : numberCell(value, 0);
        }),
      })),
  });

export const layersTable = ({
  models,
}: {
  readonly models: readonly Pick<PageModel, 'name' | 'bands' | 'outside'>[];
}): ScoreTable =>
  tableOf({
    id: 'layers',
    title: 'Origin of the layers of each merge',
    columns: texts({ layers: 'layers', outside: 'outside the layers' }),
    rows: models
      .filter(({ bands }) => bands.length > 0)
      .map(({ name, bands, outside }) => ({
        id: name,
        label: name,
        cells: [
          textCell(
            bands
              .map(({ first, last, label }) => `${first === last ? first : `${first}-${last}`}: ${label}`)
              .join('; '),
          ),
          outside === null ? null : textCell(outside),
        ],
      })),
  });

const cellOf = ({ value, digits, n, interval }: PageCell): Cell => ({
  ...{ value, digits, source: 'computed' },
  ...(n === undefined ? {} : { n }),
  ...(interval === undefined ? {} : { interval }),
});

const regressionsTable = ({ columns, rows, ...table }: PageTable): ScoreTable =>
  tableOf({
    ...{ id: 'regressions-of-merges', title: table.title, caption: table.caption, notes: table.notes },
    columns: columns.map(({ id, label }) => ({
      ...{ id, label },
      kind: id === 'task' || id === 'verdict' ? ('text' as const) : ('number' as const),
    })),
    rows: rows.map(({ id, label, cells }) => ({
      ...{ id, label },
      cells: cells.map((cell) => (cell === null ? null : cellOf(cell))),
    })),
  });

const layerRow = (layer: number | null, cells: readonly (Cell | null)[]): TableRow => {
  const id = layer === null ? 'outside' : String(layer);
  return { id, label: layer === null ? 'outside the layers' : `layer ${layer}`, cells };
};

const expertTable = (
  id: string,
  { name, columns, cells }: PageExpert,
  stops: readonly number[],
  stop: number,
): ScoreTable =>
  tableOf({
    id,
    title: `${name}: share of rows with a MAV above ${itemAt(stops, stop)}`,
    columns: columns.map(({ title, label }) => ({ id: title, label, kind: 'number' as const })),
    rows: cells.map((row, layer) =>
      layerRow(
        layer,
        row.map((cell) => (cell === null ? null : plain(itemAt(cell.above, stop) / cell.rows))),
      ),
    ),
  });

interface OverlapOf<Key extends string> {
  readonly parts: readonly LayerFigures<Key>[];
  readonly whole: LayerFigures<Key>;
}

const overlapTable = <Key extends string>(
  id: string,
  title: string,
  label: string,
  { parts, whole }: OverlapOf<NoInfer<Key>>,
  labels: Readonly<Record<Key, string>>,
): ScoreTable => {
  const cells = (of: LayerFigures<Key>) => (Object.keys(labels) as Key[]).map((key) => plain(of[key]));
  const rows = [
    ...parts.map((part) => layerRow(part.layer, cells(part))),
    { id: 'all', label, cells: cells(whole) },
  ];
  return tableOf({ id, title, columns: numbers(labels), rows });
};

export const analysisTables = ({
  experts,
  stops,
  opening,
  overlaps,
  topOverlaps,
  proposals,
}: PageAnalysis): readonly ScoreTable[] => [
  tableOf({
    id: 'experts',
    title: 'Changes of the experts: mean MAV, and shares of the change',
    columns: numbers({
      meanMav: 'mean MAV',
      inverseMav: '1 / mean MAV',
      bottom: 'first layers',
      middle: 'middle',
      top: 'last layers',
      outside: 'outside',
    }),
    rows: experts.map(({ name, meanMav, inverseMav, shares }) => ({
      id: name,
      label: name,
      cells: [plain(meanMav), plain(inverseMav), ...shares.map(plain)],
    })),
  }),
  ...experts.flatMap((expert) => {
    const { name, analysed } = expert;
    return [
      expertTable(`experts/${name}`, expert, stops, analysed),
      ...(analysed === opening ? [] : [expertTable(`experts/${name}/as-opened`, expert, stops, opening)]),
    ];
  }),
  tableOf({
    id: 'proposals',
    title: 'Proposed swaps',
    columns: numbers({
      bottom: 'bottom',
      'bottom-fewest': 'fewest',
      'bottom-most': 'most',
      top: 'top',
      'top-fewest': 'fewest',
      'top-most': 'most',
      'task-keeps': 'task keeps',
      'language-gives': 'language gives',
    }),
    rows: proposals.map(({ task, language, bottom, top, bottomRange, topRange, kept }) => ({
      id: `${task}+${language}`,
      label: `${task} and ${language}`,
      cells: [bottom, ...bottomRange, top, ...topRange, kept.task, kept.language].map(plain),
    })),
  }),
  ...overlaps.map(({ experts: [a, b], ...figures }) => {
    const title = `Overlap of the changes of ${a} and ${b}`;
    const labels = {
      cosine: 'cosine',
      signAgreement: 'sign agreement',
      rowsAboveInBoth: 'rows above in both',
    };
    return overlapTable(`overlaps/${a}+${b}`, title, 'whole model', figures, labels);
  }),
  ...topOverlaps.map(({ experts: [a, b], topShare, ...figures }) => {
    const title = `Overlap of the largest changes of ${a} and ${b} (share ${topShare})`;
    const labels = { shared: 'in both', chance: 'by chance', rows: 'rows' };
    return overlapTable(`top-overlaps/${a}+${b}`, title, 'all layers', figures, labels);
  }),
];

/**
 * Returns numbers that are in the page's pictures and not in its tables. Rows of analyses are counted at
 * their files' thresholds and at the page's first.
 */
export const pictureTables = (data: ReportData): ScoreTable[] =>
  [
    ...data.grids.map((grid) => gridTable(grid, itemAt(data.tasks, grid.task))),
    ...(data.costs.length === 0 ? [] : [costTable(data)]),
    layersTable(data),
    ...(data.regressions === null ? [] : [regressionsTable(data.regressions)]),
    ...(data.analysis === null ? [] : analysisTables(data.analysis)),
  ].filter(({ rows }) => rows.length > 0);
