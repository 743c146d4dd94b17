import { sentenceOf } from '../../scores/conclusion.js';
import { scaleOf } from '../../scores/metrics.js';
import { fixed } from '../../scores/score-table.js';
import type { SearchRecord } from '../../search/run-search.js';
import type { SearchStep } from '../../search/trace.js';
import { plainTable } from './table.js';

/** Formats a step for the terminal, in one line. */
export const describeStep = ({ title, limit, candidates, kept, spent }: SearchStep): string =>
  `${title}: ${candidates.length} configurations on ${limit} problems, ${spent} problem-evaluations so far; ` +
  (kept.length <= 1 ? `first: ${kept[0] ?? 'none'}` : `${kept.length} go on, first ${kept[0]}`);

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
    ...proposalLines(search),
    `choice: ${choice} (${search.language}, ${search.pairs.length} ${search.pairs.length === 1 ? 'pair' : 'pairs'})`,
    ...heldOutLines(search),
    `spent: ${spent} problem-evaluations of ${budget} allowed, ${((100 * spent) / grid).toFixed(1)} % of the grid's ${grid}`,
    ...(heldOut === null ? [] : ['The held-out problems took no part in the choice.']),
    ...(failed.length === 0 ? [] : [`could not be scored: ${failed.join(', ')}`]),
    ...leftOutLines(search),
  ].join('\n');
};

const proposalLines = ({ proposal, pairs }: SearchRecord): string[] =>
  proposal === null
    ? []
    : [`first: ${proposal.name}, which the analysis proposes for ${proposal.pairs} of ${pairs.length} pairs`];

/** More names of configurations than these are in search.json alone. */
const mostNamed = 8;

const leftOutLines = ({ leftOut, configurations, strategy }: SearchRecord): string[] => {
  if (leftOut.length === 0) return [];
  const why = strategy === 'halving' ? 'the budget does not cover them' : 'no descent came by them';
  const more = leftOut.length > mostNamed ? ', …' : '';
  return [
    `never scored: ${leftOut.length} of ${configurations} configurations, since ${why} (raise --budget): ${leftOut.slice(0, mostNamed).join(', ')}${more}`,
  ];
};

const heldOutLines = ({
  heldOut,
  conclusion,
  choice,
  default: standard,
  recommended,
}: SearchRecord): string[] => {
  if (heldOut === null || conclusion === null)
    return ['The search chose the default: there is nothing to compare.'];
  const { factor, digits } = scaleOf(heldOut.metric);
  const show = (value: number) => fixed(value * factor, digits);
  const { n, test } = heldOut;
  return [
    `on ${n} held-out problems: ${show(heldOut.choice)}, default ${standard}: ${show(heldOut.default)}` +
      (test === null ? '' : ` (${test === 'mcnemar' ? 'exact McNemar test' : 'paired t-test'})`),
    sentenceOf(conclusion, 'The choice', 'the default'),
    `recommended: ${recommended}${recommended === choice ? '' : ', the default'}`,
  ];
};
