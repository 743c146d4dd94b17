import { visibleLine } from '../../base/errors/visible.js';
import { decimals } from '../../methods/operations/program/words.js';
import { heights, zero } from './chart-characters.js';
import type { ChartRow } from './layer-chart.js';

/** Minimum and maximum of columns. Further layers share columns. */
const bounds = { least: 18, most: 40 };

const valuesWidth = 15;

const mostName = 14;

/** Maximum number of values to list; otherwise a row shows its range. */
const mostTurns = 6;

/** Colours a bar. `model` is null for a parameter of the whole formula. */
export type Paint = (bar: string, model: string | null) => string;

/**
 * Draws numbers over layers, layer 0 left, one row a line:
 *
 *     layer            0         10        20       29
 *     math-1  weight   ▇▇▇▇▇▆▆▆▆▆▅▅▅▅▅▄▄▄▄▄▃▃▃▃▃▃▂▂▂▂  1 → 0.2
 *     jpn-1   weight   ·▁▁▁▁▁▂▂▂▂▂▃▃▃▃▃▄▄▄▄▄▅▅▅▅▅▆▆▆▆  0 → 0.8
 */
export const drawChart = (
  rows: readonly ChartRow[],
  layers: number,
  paint: Paint = (bar) => bar,
  widest = 80,
): string => {
  const labels = labelsOf(rows);
  const width = Math.max(...labels.map(({ length }) => length), 'layer'.length);
  const longest = Math.max(...rows.map(({ values }) => turnsOf(values).length));
  const room = widest - width - 6 - Math.min(valuesWidth, longest);
  const step = Math.ceil(layers / Math.min(bounds.most, Math.max(bounds.least, room)));
  const columns = Math.ceil(layers / step);
  const head = `  ${'layer'.padEnd(width)}  ${axis(layers, step, columns)}`;
  const note = step > 1 ? [`  (each character is the mean of ${step} layers)`] : [];
  const mean = rows.some(({ isMean }) => isMean) ? ['  (mean of the tensors in each layer)'] : [];
  const lines = rows.map(({ model, values, isMean }, index) => {
    const bar = paint(barOf(values, step, scaleOf(rows, index)), model);
    const turns = turnsOf(values);
    const fits = turns.length <= widest - width - columns - 6;
    return `  ${labels[index]?.padEnd(width)}  ${bar}  ${isMean || !fits ? rangeOf(values) : turns}`;
  });
  return [head, ...lines, ...note, ...mean].join('\n');
};

/** Returns the rows' labels, aligned. Omits words repeated from the row above. */
const labelsOf = (rows: readonly ChartRow[]): string[] => {
  const all = rows.map(({ model, figure, modules }) => [
    shorten(visibleLine(model ?? '')),
    figure,
    visibleLine(modules ?? ''),
  ]);
  const widths = [0, 1, 2].map((column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  return all.map((row, index) => {
    const above = all[index - 1];
    let isSame = above !== undefined;
    const shown = row.flatMap((text, column) => {
      isSame &&= text === above?.[column];
      const isHidden = isSame && column < 2;
      return widths[column] === 0 ? [] : [(isHidden ? '' : text).padEnd(widths[column] ?? 0)];
    });
    return shown.join('  ').trimEnd();
  });
};

const shorten = (name: string): string => {
  const half = (mostName - 1) / 2;
  return name.length <= mostName
    ? name
    : `${name.slice(0, Math.floor(half))}…${name.slice(-Math.ceil(half))}`;
};

const axis = (layers: number, step: number, columns: number): string => {
  const last = String(layers - 1);
  let text = '';
  for (let column = 0; column < columns; column += 10) {
    const label = String(column * step);
    if (column > 0 && column + label.length >= columns - last.length) break;
    text = text.padEnd(column) + label;
  }
  return layers === 1 ? text : `${text.padEnd(columns - last.length)}${last}`;
};

interface Scale {
  readonly low: number;
  readonly high: number;
}

const scaleOf = (rows: readonly ChartRow[], index: number): Scale => {
  const values = rows
    .filter(({ figure }) => figure === rows[index]?.figure)
    .flatMap(({ values: all }) => all.filter((value) => value !== null));
  const [least, most] = [Math.min(0, ...values), Math.max(0, ...values)];
  return { low: least, high: most > 0.1 && most <= 1 ? 1 : most };
};

const barOf = (values: readonly (number | null)[], step: number, { low, high }: Scale): string => {
  let bar = '';
  for (let at = 0; at < values.length; at += step) {
    const some = values.slice(at, at + step).filter((value) => value !== null);
    const value = some.reduce((sum, one) => sum + one, 0) / some.length;
    if (some.length === 0) bar += ' ';
    else if (value === 0 || high === low) bar += zero;
    else {
      const height = Math.ceil(((value - low) / (high - low)) * heights.length - 1e-9);
      bar += heights[Math.min(heights.length, Math.max(1, height)) - 1] ?? zero;
    }
  }
  return bar;
};

/** Returns the first value, the values where the direction changes, and the last: `0 → 0.7 → 0.3`. */
const turnsOf = (values: readonly (number | null)[]): string => {
  const known = values.filter((value) => value !== null);
  const turns: number[] = [];
  for (const value of known) {
    const [before, last] = turns.slice(-2);
    if (turns.at(-1) === value) continue;
    const isOnward =
      turns.length > 1 && before !== undefined && last !== undefined && (last - before) * (value - last) > 0;
    if (isOnward) turns[turns.length - 1] = value;
    else turns.push(value);
  }
  return turns.length > mostTurns ? rangeOf(values) : turns.map(rounded).join(' → ');
};

const rangeOf = (values: readonly (number | null)[]): string => {
  const known = values.filter((value) => value !== null);
  if (known.length === 0) return '';
  const [least, most] = [rounded(Math.min(...known)), rounded(Math.max(...known))];
  return least === most ? least : `${least} … ${most}`;
};

const rounded = (value: number): string => decimals(Number(value.toPrecision(3)));
