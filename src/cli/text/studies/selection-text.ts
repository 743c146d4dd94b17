import { optionName } from '../../../core/base/errors/option-name.js';
import { counted } from '../../../core/base/format.js';
import { plainTable } from '../../../core/base/table.js';
import type { ChosenBy, SelectionByRole } from '../../../study/search/select/select-by-role.js';

export const describeSelection = ({
  chosen,
  balance,
  scores,
  leftOut,
  weights,
  measured = {},
  spared,
}: SelectionByRole & { readonly measured?: Readonly<Record<string, ChosenBy>> }): string => {
  const signed = (value: number | null) =>
    value === null ? '–' : `${value > 0 ? '+' : ''}${value.toFixed(2)}`;
  const hasRoles = chosen.some(({ role }) => role !== null);
  const role = (of: string | null) => (hasRoles ? [of ?? '–'] : []);
  const place = (at: number) =>
    String(chosen.slice(0, at + 1).filter((one) => one.role === chosen[at]?.role).length);
  const named = new Set(weights.map(({ weight }) => weight)).size > 1;
  const tasks = [
    ...new Set(
      weights
        .filter(({ weight }) => weight > 0)
        .map(({ task, weight }) => `${task}${named ? ` × ${Number(weight.toPrecision(3))}` : ''}`),
    ),
  ];
  return [
    plainTable(
      [
        [...role('role'), '', 'checkpoint', 'score', 'distance', 'diversity', 'value', 'next best'],
        ...chosen.map(({ name, score, distance, diversity, value, next, ...of }, at) => [
          ...role(of.role),
          place(at),
          name,
          signed(score),
          distance === null ? '–' : distance.toFixed(3),
          signed(diversity),
          signed(value),
          next === null ? '–' : `${next.name} ${signed(next.value)}`,
        ]),
      ],
      hasRoles ? 3 : 2,
    ),
    '',
    ...leftOut.map(
      ({ name, benchmark, score, atLeast }) =>
        `excluded: ${name}, ${benchmark} ${Number(score.toPrecision(4))}, at least ${Number(atLeast.toPrecision(4))}`,
    ),
    `score: standardised over ${scores.length} candidates${hasRoles ? ', each role separately,' : ''} and averaged over benchmarks (${tasks.join(', ')}); distance: 1 − cosine of task vectors, to the nearest one chosen; diversity: the distance, standardised over pairs`,
    ...Object.entries(measured).map(
      ([task, { rows, problems }]) =>
        `chosen by ${counted(problems, 'problem')} of ${task}${rows === 'all' ? '' : ` (${rows})`}: scores of the chosen checkpoints on these are too high; report others`,
    ),
    ...(spared.length === 0
      ? []
      : [
          `${spared.join(', ')} did not count, because it scores the merges; ${optionName('tasks')} changes this`,
        ]),
    `value: score + ${balance === 1 ? '' : `${balance} × `}diversity; the first has the best score`,
  ].join('\n');
};
