import { describe, expect, it } from 'vitest';
import { coverageOf, type Design, type Figure } from '../scores/intervals/studies.js';

// docs/tables.md has the ranges of all cells (`npm run bench:coverage`). Default: 3 × 3 pairs, without effects of experts
// and with the paper's.
const asked = process.env['LAYERLOOM_STUDIES'];
const studies = Number(asked ?? 60);

const errorOf = (share: number): number => Math.sqrt((share * (100 - share)) / studies);

/** How far a share may miss its bound: chance exceeds it in about one of 1,000 cells. */
const slack = (share: number): number => 3 * errorOf(share);

const levels = [0.05, 0.12, 0.32, 0.9];

const designs = (experts: readonly number[], answers = 1): Design[] =>
  levels.flatMap((level) =>
    experts.flatMap((of) =>
      [50, 250].flatMap((problems) =>
        [0, 0.5, 1].map((effects): Design => ({ level, experts: of, problems, effects, answers })),
      ),
    ),
  );

const cells: readonly (readonly [Figure, readonly Design[]])[] = [
  ['mean', designs([1, 2, 3])],
  ['highest', designs([2, 3])],
  ['difference', designs([1, 2, 3])],
  ['gain', designs([1, 2, 3])],
  ['best', designs([1, 2, 3])],
  ['best less default', designs([1, 2, 3])],
  ...[3, 10, 30].flatMap((answers): (typeof cells)[number][] => [
    ['mean', designs([1, 2, 3], answers)],
    ['difference', designs([1, 2, 3], answers)],
  ]),
];

const nameOf = (figure: Figure, { level, experts, problems, effects, answers }: Design): string =>
  `${figure}, level ${level}, ${experts ** 2} ${experts === 1 ? 'pair' : 'pairs'}, ${problems} problems, effects ${effects}${answers === 1 ? '' : `, ${answers} answers`}`;

describe('intervals of simulated studies', () => {
  it.each(
    cells.flatMap(([figure, of]) =>
      of
        .filter(
          ({ experts, effects, answers = 1 }) =>
            asked !== undefined || (experts === 3 && effects !== 0.5 && [1, 10].includes(answers)),
        )
        .map((design) => [nameOf(figure, design), figure, design] as const),
    ),
  )('hold the truth in 93 of 100, and claim no more than 6 falsely: %s', (name, figure, design) => {
    const coverage = coverageOf(figure, design, studies);
    if (asked !== undefined)
      console.log(
        `${name}: ${coverage.coverage.toFixed(1)} %, width ${coverage.width.toFixed(1)}, false claims ${coverage.falseClaims.toFixed(1)} %`,
      );
    expect(coverage.coverage).toBeGreaterThanOrEqual(93 - slack(93));
    expect(coverage.falseClaims).toBeLessThanOrEqual(6 + slack(6));
    if (design.experts === 3 && design.effects === 1)
      expect(coverage.coverage).toBeLessThanOrEqual(Math.min(100, 97 + slack(97)));
  });
});
