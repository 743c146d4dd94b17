import { itemAt } from '../../../core/base/errors/lookup.js';
import { formatBytes, formatCount, formatPercent, formatSeconds } from '../../../core/base/format.js';
import { joinRuns, plainTable } from '../../../core/base/table.js';
import { wrap } from '../../../core/base/wrap.js';
import type {
  ComparedModel,
  Comparison,
  TensorComparison,
} from '../../../core/measure/comparison/comparison.js';
import type { SideFileDifference } from '../../../core/measure/comparison/side-file-differences.js';
import { showNumber, twoDigits } from '../components/data/numbers.js';
import { cellOf, isSame, type LayerCell, layerTable, mostIn } from './layer-table.js';
import { verdictOf } from './verdict.js';

const width = 80;
/** Maximum width of a cell in characters, including two spaces between columns. */
const widestCell = 7;
const [mostLargest, mostListed] = [10, 8];

/**
 * Formats a comparison for the terminal: verdict, relative differences by layer and module, the tensors that
 * differ most, and what cannot be compared.
 */
export const describeComparison = (comparison: Comparison, all: boolean): string => {
  const { a, b, tensors, bytesRead, seconds } = comparison;
  const sections = [
    sentences(verdictOf(comparison)),
    plainTable([modelRow('A', a), modelRow('B', b)], undefined, width),
    ...(tensors.every(isSame) ? [] : [describeLayers(comparison), describeOutside(tensors)]),
    ...(all ? [tensorTable('Tensors', tensors)] : [describeLargest(tensors)]),
    ...(all ? [] : [describeOthers(tensors)]),
    sentences(describeFirsts(tensors)),
    sentences(describeNonFinite(tensors)),
    sentences(describeSideFiles(comparison.sideFiles)),
    bytesRead > 0
      ? `${formatBytes(bytesRead)} read in ${formatSeconds(seconds)}`
      : tensors.some(({ state }) => state === 'equal')
        ? 'nothing read: both models link to the same files'
        : 'nothing read: no tensor of one model can be compared with one of the other',
  ];
  return sections.filter((section) => section !== '').join('\n\n');
};

const sentences = (text: string): string =>
  text
    .split('\n')
    .flatMap((line) => wrap(line, width))
    .join('\n');

const modelRow = (label: string, { name, path, parameters, layers }: ComparedModel): string[] => [
  label,
  name,
  `${formatCount(parameters)} parameters, ${layers} layers`,
  path,
];

const shades = ['░', '▒', '▓', '█'] as const;

const showCell = (cell: LayerCell, most: number): string => {
  if (cell === undefined) return '';
  if (cell === 'other') return '≠';
  if (cell === 0) return '·';
  const shade = itemAt(shades, Math.min(shades.length - 1, Math.floor((cell / most) * shades.length)));
  return `${shade} ${twoDigits(cell)}`;
};

const describeLayers = (comparison: Comparison): string => {
  const table = layerTable(comparison);
  const { columns, cells } = table;
  const most = mostIn(table);
  if (cells.length === 0 || columns.length === 0) return '';
  const fitting = Math.floor((width - 7) / (widestCell + 2));
  const shown = columns.slice(0, fitting);
  const lines = cells.map((row, layer) => ({
    layer,
    cells: row.slice(0, fitting).map((cell) => showCell(cell, most)),
  }));
  const rows = joinRuns(
    lines,
    (line) => line.cells.join('|'),
    (first, last) => [first === last ? String(first.layer) : `${first.layer}–${last.layer}`, ...first.cells],
  );
  const left = columns.length - shown.length;
  const found = cells.flatMap((row) => row.slice(0, fitting));
  const legend = [
    '· equal',
    ...(found.some((cell) => typeof cell === 'number' && cell > 0) ? [`█ up to ${twoDigits(most)}`] : []),
    ...(found.includes('other') ? ['≠ differs, but the difference has no number'] : []),
  ];
  return [
    sentences(`‖a − b‖ / ‖a‖ in per cent, by layer and module (${legend.join(', ')})`),
    plainTable([['layer', ...shown.map((label) => label.slice(0, widestCell))], ...rows], 1),
    ...(left > 0 ? [`  ${left} more ${left === 1 ? 'module' : 'modules'}: --json, --out`] : []),
  ].join('\n');
};

const describeOutside = (tensors: readonly TensorComparison[]): string => {
  const outside = tensors.filter(({ layer }) => layer === null);
  const cells = outside.map((tensor) => {
    const cell = cellOf([tensor]);
    return [
      tensor.name,
      typeof cell === 'number' && cell > 0 ? `${twoDigits(cell)} %` : cell === 0 ? '·' : '≠',
    ];
  });
  return cells.length === 0 ? '' : `Outside the layers\n${plainTable(listed(cells, outside.length))}`;
};

const listed = (rows: readonly string[][], count: number): string[][] =>
  rows.length <= mostListed ? [...rows] : [...rows.slice(0, mostListed), [`… (${count} in all)`]];

const relativeOf = ({ difference }: TensorComparison): number =>
  difference?.relative ?? Number.POSITIVE_INFINITY;

const describeLargest = (tensors: readonly TensorComparison[]): string => {
  const differing = tensors.filter(({ state }) => state === 'differs');
  const largest = [...differing].sort((x, y) => relativeOf(y) - relativeOf(x)).slice(0, mostLargest);
  if (largest.length === 0) return '';
  return tensorTable(
    differing.length > mostLargest ? `The ${mostLargest} tensors that differ most` : 'Tensors that differ',
    largest,
  );
};

const states = {
  equal: 'equal',
  sameValues: 'same values',
  differs: 'differs',
  otherDtype: 'other dtype',
  otherShape: 'other shape',
  onlyInA: 'only in A',
  onlyInB: 'only in B',
} as const satisfies Record<TensorComparison['state'], string>;

const tensorTable = (title: string, tensors: readonly TensorComparison[]): string =>
  [
    title,
    plainTable(
      [
        ['tensor', 'relative', 'max |a − b|', 'differing'],
        ...tensors.map(({ name, state, difference, elements }) => {
          if (difference === null) return [name, states[state]];
          const { relative, max, differing } = difference;
          return [
            name,
            state === 'sameValues' ? states.sameValues : relative === null ? '–' : `${twoDigits(relative)} %`,
            max === null ? '–' : showNumber(max),
            differing === null ? '–' : showShare(differing, elements),
          ];
        }),
      ],
      1,
      width,
    ),
  ].join('\n');

const showShare = (count: number, elements: number): string =>
  count < 1000 && count < elements / 100 ? String(count) : formatPercent(count / elements);

const describeOthers = (tensors: readonly TensorComparison[]): string => {
  const lines = tensors.flatMap(({ name, state, a, b }): string[][] => {
    const [one, other] = [a, b].map((stored) =>
      stored === null ? '' : `${stored.dtype} [${stored.shape.join(', ')}]`,
    );
    if (state === 'onlyInA') return [[name, `only in A: ${one}`]];
    if (state === 'onlyInB') return [[name, `only in B: ${other}`]];
    return state === 'otherShape' || state === 'otherDtype' ? [[name, `${one} against ${other}`]] : [];
  });
  const dtypes = new Map<string, number>();
  for (const { a, b } of tensors)
    if (a !== null && b !== null && a.dtype !== b.dtype) {
      const pair = `${a.dtype} against ${b.dtype}`;
      dtypes.set(pair, (dtypes.get(pair) ?? 0) + 1);
    }
  return [
    ...(lines.length === 0
      ? []
      : ['Tensors that cannot be compared', plainTable(listed(lines, lines.length))]),
    ...[...dtypes].map(
      ([pair, count]) => `${count} ${count === 1 ? 'tensor has' : 'tensors have'} another dtype: ${pair}`,
    ),
  ].join('\n');
};

const describeFirsts = (tensors: readonly TensorComparison[]): string => {
  const differing = tensors.filter(({ difference }) => difference !== null);
  if (differing.length > 3) return '';
  return differing
    .map(({ name, difference }) => {
      if (difference === null) return '';
      const { index, position } = difference.first;
      const at = position.length > 1 ? `${index}, [${position.join(', ')}]` : String(index);
      return `${name}: first difference at element ${at}`;
    })
    .join('\n');
};

const describeNonFinite = (tensors: readonly TensorComparison[]): string =>
  tensors
    .filter(({ difference }) => difference !== null && difference.nonFinite > 0)
    .slice(0, mostListed)
    .map(({ name, difference }) =>
      difference?.nonFinite === 1
        ? `${name}: 1 element is NaN or infinite in one of the models; it is excluded from the figures`
        : `${name}: ${difference?.nonFinite} elements are NaN or infinite in one of the models; they are excluded from the figures`,
    )
    .join('\n');

const describeSideFiles = (files: readonly SideFileDifference[]): string => {
  const equal = files.filter(({ state }) => state === 'equal').map(({ name }) => name);
  const others = files.filter(({ state }) => state !== 'equal');
  return [
    ...others.map(describeSideFile),
    ...(equal.length === 0 ? [] : [`other files that are equal: ${equal.join(', ')}`]),
  ].join('\n');
};

const describeSideFile = ({ name, state, keys }: SideFileDifference): string => {
  if (state === 'onlyInA' || state === 'onlyInB') return `${name}: ${states[state]}`;
  if (state === 'sameContent') return `${name}: the same values, written differently`;
  if (keys.length === 0) return `${name}: differs`;
  const told = keys
    .slice(0, mostListed)
    .map(({ key, a, b }) =>
      a === undefined || b === undefined ? key : `${key} ${a ?? 'absent'} against ${b ?? 'absent'}`,
    );
  return `${name}: ${told.join('; ')}${keys.length > mostListed ? `; … (${keys.length} keys in all)` : ''}`;
};
