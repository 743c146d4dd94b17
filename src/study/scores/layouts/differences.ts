import type { Board, Subject } from '../boards/board.js';
import { differenceCell, numberCell, textCell } from '../boards/cells.js';
import { judged } from '../boards/judged.js';
import { type Conclusion, isUnsaid } from '../comparing/conclusion.js';
import { type Equivalence, equivalenceOf } from '../comparing/equivalence.js';
import { compareRows, holm, meanOfComparisons, type PairedComparison } from '../comparing/paired.js';
import { meanOfPaired, type PairedScores, pairRows } from '../intervals/paired-scores.js';
import { rowOf } from '../intervals/rows.js';
import { level } from '../intervals/shares.js';
import { type Cell, fixed, pText, type ScoreTable, type TableRow, tableOf } from '../reading/score-table.js';
import type { ScoredModel } from '../reading/scored-experiment.js';

export interface Contrast {
  readonly id: string;
  /** `(0, 0) minus (5, 2)` */
  readonly label: string;
  /** Two rows, with the same experts; undefined if a row is missing. */
  readonly sides: (subject: Subject) => Sides | undefined;
}

export type Sides = readonly [a: readonly ScoredModel[], b: readonly ScoredModel[]];

export interface Contrasts {
  readonly of: string;
  readonly title: string;
  readonly caption: string;
  readonly subjects: readonly Subject[];
  readonly contrasts: readonly Contrast[];
  /** True if p-values of equivalence tests are also adjusted for the rows of a language. */
  readonly adjustsEquivalence?: boolean;
}

interface Compared {
  readonly contrast: Contrast;
  readonly subject: Subject;
  readonly models: number;
  readonly result: PairedComparison;
  readonly paired: PairedScores | undefined;
}

interface Family {
  readonly id: string;
  readonly label: string;
  readonly compared: readonly Compared[];
}

/**
 * Tabulates paired differences between rows and their reference rows, by language and as the mean over
 * languages. If a margin is given, adds tests of equivalence. p is adjusted over all rows of a language.
 */
export const differences = (
  board: Board,
  { of, title, caption, subjects, contrasts, adjustsEquivalence = false }: Contrasts,
): ScoreTable => {
  const own = subjects.map((subject): Family => {
    const compared = contrasts.flatMap((contrast) => compare(board, subject, contrast) ?? []);
    return { id: subject.language, label: subject.language, compared };
  });
  const families = [...own, ...meanFamily(contrasts, own)];
  const isTested = board.margin !== undefined && subjects.every(({ scale }) => scale.unit === 'percent');
  return tableOf({
    id: adjustsEquivalence ? of : `${of}/differences`,
    title,
    caption,
    notes: [
      'The two sides have the same problems and the same experts; a positive difference is a higher score.',
      'Adjusted p: Holm’s correction for the rows of a language in this table. The verdict uses it.',
      ...(own.filter(({ compared }) => compared.length > 0).length > 1 ? [meanNote] : []),
      ...marginNotes(board, isTested, adjustsEquivalence),
    ],
    columns: [
      { id: 'difference', label: 'difference', kind: 'number' },
      { id: 'p', label: 'p', kind: 'number' },
      { id: 'adjusted-p', label: 'adjusted p', kind: 'number' },
      { id: 'verdict', label: 'verdict', kind: 'text' },
      ...(isTested
        ? ([
            { id: 'equivalence', label: 'equivalence', kind: 'text' },
            { id: 'equivalence-p', label: 'p of the tests', kind: 'number' },
            { id: 'smallest-margin', label: 'smallest margin', kind: 'number' },
          ] as const)
        : []),
    ],
    rows: families.flatMap(({ id, label, compared }) => {
      const found = isTested ? compared.map((one) => equivalenceIn(one, board.margin as number)) : [];
      const adjusted = adjustsEquivalence ? holm(found.map((one) => one?.p)) : [];
      return judged(compared).map(
        (one, at): TableRow => ({
          id: `${id}/${one.contrast.id}`,
          label: `${label}: ${one.contrast.label}`,
          cells: [
            ...testCells(one, one.adjusted, one.conclusion.words),
            ...(isTested
              ? equivalenceCells(one, one.conclusion, board.margin as number, {
                  found: found[at],
                  adjusted: adjusted[at],
                })
              : []),
          ],
        }),
      );
    }),
  });
};

const meanNote =
  'Mean: over the languages, each counted once. Problems with the same position in their tasks are paired, and so are shared task experts. p is for these languages.';

const marginNotes = ({ margin }: Board, isTested: boolean, isAdjusted: boolean): string[] => {
  if (margin === undefined) return [];
  if (!isTested)
    return [
      'The margin is in percentage points, but this metric is not a share of problems, so equivalence is not tested.',
    ];
  return [
    `Equivalence within ±${margin} points: two one-sided tests (Schuirmann 1987), each at 5 %; p is the larger one, ${isAdjusted ? 'adjusted for the rows of a language (Holm)' : 'not adjusted'}.`,
    'Smallest margin: the one with which these results would pass. A difference that is not significant is not an equivalence.',
  ];
};

const compare = (board: Board, subject: Subject, contrast: Contrast): Compared | undefined => {
  const sides = contrast.sides(subject);
  if (sides === undefined) return undefined;
  const [a, b] = sides.map((models) => rowOf(models, subject.task));
  if (a === undefined || b === undefined || a.results.length === 0 || b.results.length === 0)
    return undefined;
  return board.attempt(() => ({
    contrast,
    subject,
    models: a.results.length,
    result: compareRows(a, b, subject.metric, board.resampling),
    paired: pairRows(a, b, subject.metric),
  }));
};

const meanFamily = (contrasts: readonly Contrast[], families: readonly Family[]): Family[] => {
  const filled = families.filter(({ compared }) => compared.length > 0);
  if (filled.length < 2) return [];
  const compared = contrasts.flatMap((contrast): Compared[] => {
    const of = filled.flatMap((family) => family.compared.filter((one) => one.contrast === contrast));
    const [first] = of;
    if (first === undefined || of.length < filled.length) return [];
    const paired = of.map((one) => one.paired);
    const known = paired.filter((one) => one !== undefined);
    return [
      {
        ...first,
        models: of.reduce((sum, { models }) => sum + models, 0),
        result: meanOfComparisons(
          of.map(({ result }) => result),
          paired,
        ),
        paired: known.length < paired.length ? undefined : meanOfPaired(known),
      },
    ];
  });
  return [{ id: 'mean', label: 'mean', compared }];
};

const testCells = (
  { subject, models, result }: Compared,
  adjusted: number | undefined,
  words: string,
): (Cell | null)[] => [
  differenceCell(result, subject.scale, {
    n: models,
    ...(result.reason === undefined ? {} : { flag: result.reason }),
  }),
  result.p === undefined ? null : numberCell(result.p, 4),
  adjusted === undefined ? null : numberCell(adjusted, 4),
  textCell(words),
];

const equivalenceIn = ({ subject, paired }: Compared, margin: number): Equivalence | undefined =>
  paired === undefined ? undefined : equivalenceOf(paired, margin / subject.scale.factor);

const equivalenceCells = (
  { subject, result }: Compared,
  { verdict, words }: Pick<Conclusion, 'verdict' | 'words'>,
  margin: number,
  { found, adjusted }: { readonly found: Equivalence | undefined; readonly adjusted: number | undefined },
): (Cell | null)[] => {
  const { factor, digits } = subject.scale;
  if (isUnsaid(verdict)) return [textCell(words), null, null];
  if (found === undefined)
    return [
      textCell(result.reason === undefined ? 'not tested' : `not tested: ${result.reason}`),
      null,
      null,
    ];
  const p = adjusted ?? found.p;
  const isShown = found.verdict === 'equivalent' && p >= level ? 'not shown' : found.verdict;
  return [
    textCell(equivalenceWords({ ...found, p, verdict: isShown }, margin, { factor, digits })),
    numberCell(p, 4),
    numberCell(found.smallest * factor, digits),
  ];
};

const equivalenceWords = (
  { verdict, p, reach }: Equivalence,
  margin: number,
  { factor, digits }: { readonly factor: number; readonly digits: number },
): string => {
  if (verdict === 'equivalent') return `equivalent within ±${margin} (${pText(p)})`;
  if (verdict === 'not shown') return `not shown to be equivalent within ±${margin} (${pText(p)})`;
  // Rounds up, so that results can pass with the margin shown.
  const unit = 10 ** digits;
  const least = fixed(Math.ceil(reach * factor * unit) / unit, digits);
  return `±${margin} cannot be shown with these data, even if the difference is 0: the smallest possible margin is ±${least}`;
};
