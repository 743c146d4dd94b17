import { scaleOf } from '../scores/metrics.js';
import type { SearchRecord } from '../search/run-search.js';
import type { SearchStep } from '../search/trace.js';
import { plainTable } from './table.js';

/** Formats a step for the terminal, in one line. */
export const describeStep = ({ title, limit, candidates, kept, spent }: SearchStep): string =>
  `${title}: ${candidates.length} configurations on ${limit} problems, ${spent} problem-evaluations so far; ` +
  (kept.length <= 1 ? `best: ${kept[0] ?? 'none'}` : `${kept.length} go on, first ${kept[0]}`);

/** Formats the end of a search for the terminal: path, choice, and its score on held-out problems. */
export const describeSearch = (search: SearchRecord): string => {
  const { steps, choice, heldOut, spent, budget, grid, failed } = search;
  const path = plainTable(
    [
      ['step', 'configurations', 'problems', 'go on', 'spent', 'first'],
      ...steps.map(({ title, candidates, limit, kept, spent: until }) => [
        title,
        String(candidates.length),
        String(limit),
        String(kept.length),
        String(until),
        kept[0] ?? '–',
      ]),
    ],
    6,
  );
  return [
    path,
    '',
    `choice: ${choice} (${search.language}, ${search.pairs.length} ${search.pairs.length === 1 ? 'pair' : 'pairs'})`,
    ...heldOutLines(search),
    `spent: ${spent} problem-evaluations of ${budget} allowed, ${((100 * spent) / grid).toFixed(1)} % of the grid's ${grid}`,
    ...(heldOut === null ? [] : ['The held-out problems took no part in the choice.']),
    ...(failed.length === 0 ? [] : [`could not be scored: ${failed.join(', ')}`]),
  ].join('\n');
};

const heldOutLines = ({ heldOut, default: standard, metric, isGain }: SearchRecord): string[] => {
  if (heldOut === null) return ['The search chose the default: there is nothing to compare.'];
  const { unit, factor, digits } = scaleOf(metric ?? '');
  const show = (value: number) => (value * factor).toFixed(digits);
  const signed = (value: number) => `${value > 0 ? '+' : ''}${show(value)}`;
  const { n, interval, p, test } = heldOut;
  const unitName = unit === 'percent' ? ' points' : '';
  return [
    `on ${n} held-out problems: ${show(heldOut.choice)}, default ${standard}: ${show(heldOut.default)}`,
    `difference: ${signed(heldOut.difference)}${unitName}` +
      (interval === null ? '' : `, 95 % interval ${signed(interval[0])} to ${signed(interval[1])}`) +
      (p === null
        ? ', not tested: results by problem are missing'
        : `, p = ${p.toPrecision(2)} (${test === 'mcnemar' ? 'exact McNemar test' : 'paired bootstrap'})`),
    isGain ? 'The choice is better than the default at the 5 % level.' : 'This is no gain at the 5 % level.',
  ];
};
