import { counted, formatBytes } from '../../../core/base/format.js';
import { plainTable } from '../../../core/base/table.js';
import { sentenceOf } from '../../../study/scores/comparing/conclusion.js';
import { scaleOf } from '../../../study/scores/reading/metrics.js';
import { fixed } from '../../../study/scores/reading/score-table.js';
import type { SearchPlan } from '../../../study/search/plan-search.js';
import type { SearchRecord } from '../../../study/search/run-search.js';
import type { SearchStep } from '../../../study/search/space/trace.js';
import { downloadRows } from '../download-text.js';
import { describeRefused } from './batch-text.js';
import { inPlaceRows } from './in-place-text.js';

export const describeStep = ({ title, limit, candidates, kept, spent }: SearchStep): string =>
  `${title}: ${counted(candidates.length, 'configuration')} on ${counted(limit, 'problem')}, ${counted(spent, 'problem-evaluation')} so far; ` +
  (kept.length <= 1 ? `best: ${kept[0] ?? 'none'}` : `${kept.length} continue, best ${kept[0]}`);

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
    `choice: ${choice} (${search.language}, ${counted(search.pairs.length, 'pair')})`,
    ...heldOutLines(search),
    `spent: ${spent} problem-evaluations of ${budget} allowed, ${((100 * spent) / grid).toFixed(1)} % of the grid's ${grid}`,
    ...(heldOut === null ? [] : ['The choice did not use the held-out problems.']),
    ...(failed.length === 0 ? [] : [`could not be scored: ${failed.join(', ')}`]),
    ...leftOutLines(search),
  ].join('\n');
};

export const describeSearchPlan = (plan: SearchPlan): string => {
  const { configurations, pairs, language, task, rows, holdOut, steps, evaluations } = plan;
  const { merges, tried, budget, grid, cost } = plan;
  const all = evaluations.search + evaluations.heldOut;
  return [
    `successive halving over ${counted(configurations, 'configuration')} of ${counted(pairs.length, 'pair')} (${language}), by ${task}`,
    '',
    plainTable(
      [
        ['step', 'configurations', 'problems', 'problem-evaluations'],
        ...steps.map(({ title, configurations: count, limit, evaluations: own }) => [
          title,
          String(count),
          String(limit),
          String(own),
        ]),
        ['held-out comparison', '2', `${rows[1]} to ${rows[1] + holdOut - 1}`, String(evaluations.heldOut)],
      ],
      4,
    ),
    '',
    `at most ${all} problem-evaluations of ${budget} allowed, ${((100 * all) / grid).toFixed(1)} % of the grid's ${grid}`,
    `configurations scored: ${rangeOf(tried)} of ${configurations}; merges made: ${rangeOf(merges)}`,
    plainTable([
      ['first step', `${counted(cost.merges, 'merge')}, ${formatBytes(cost.bytesToWrite)} to write`],
      ...inPlaceRows(plan.inPlace),
      ...downloadRows(plan.download),
    ]),
    ...notTriedLines(plan),
    ...(plan.refused.length === 0 ? [] : [describeRefused(plan.refused)]),
  ].join('\n');
};

const rangeOf = ({ fewest, most }: SearchPlan['tried']): string =>
  fewest === most ? String(most) : `${fewest} to ${most}`;

const someOf = (names: readonly string[]): string =>
  `${names.slice(0, mostNamed).join(', ')}${names.length > mostNamed ? ', …' : ''}`;

const notTriedLines = ({ notTried, otherPairs, first, tried }: SearchPlan): string[] => {
  const unless = tried.most > tried.fewest ? ', unless their neighbours do well' : '';
  return [
    ...(notTried.length === 0
      ? ['all configurations are in the first step']
      : [
          `first: ${someOf(first)}`,
          `not tried${unless}: ${notTried.length} (raise --budget): ${someOf(notTried)}`,
        ]),
    ...(otherPairs.length === 0
      ? []
      : [`never tried, because they merge other models than the default: ${someOf(otherPairs)}`]),
  ];
};

const proposalLines = ({ proposal, pairs }: SearchRecord): string[] =>
  proposal === null
    ? []
    : [
        `first: ${proposal.name}, which the analysis proposes for ${proposal.pairs} of ${counted(pairs.length, 'pair')}`,
      ];

const mostNamed = 8;

const leftOutLines = ({ leftOut, configurations }: SearchRecord): string[] =>
  leftOut.length === 0
    ? []
    : [
        `never scored: ${leftOut.length} of ${configurations} configurations, because the budget does not cover them (raise --budget): ${someOf(leftOut)}`,
      ];

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
