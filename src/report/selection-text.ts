import type { Selection } from '../search/select-checkpoints.js';
import { plainTable } from './table.js';

/** Formats a selection for the terminal: the chosen checkpoints, why, and all candidates' scores. */
export const describeSelection = ({ chosen, balance, scores }: Selection): string => {
  const signed = (value: number | null) =>
    value === null ? '–' : `${value > 0 ? '+' : ''}${value.toFixed(2)}`;
  return [
    plainTable(
      [
        ['', 'checkpoint', 'score', 'distance', 'diversity', 'value', 'next best'],
        ...chosen.map(({ name, score, distance, diversity, value, next }, index) => [
          String(index + 1),
          name,
          signed(score),
          distance === null ? '–' : distance.toFixed(3),
          signed(diversity),
          signed(value),
          next === null ? '–' : `${next.name} ${signed(next.value)}`,
        ]),
      ],
      2,
    ),
    '',
    `score: standardised over ${scores.length} candidates and averaged over benchmarks; distance: 1 − cosine of task vectors, to the nearest one chosen; diversity: the distance, standardised over pairs`,
    `value: score + ${balance === 1 ? '' : `${balance} × `}diversity; the first has the best score`,
  ].join('\n');
};
