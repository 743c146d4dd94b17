import type { EvaluationResult } from '../evaluation/result.js';
import type { Board } from '../scores/boards/board.js';
import { areAlone, rowIn } from '../scores/boards/groups.js';
import { type Judged, judged, judgedIn } from '../scores/boards/judged.js';
import { compareRows } from '../scores/comparing/paired.js';
import type { Row } from '../scores/intervals/rows.js';
import { withProblems } from './changes.js';

/** Verdict, and each problem whose removal alone changes it. */
export interface Sensitivity {
  readonly comparison: Judged;
  /** Rows of these problems; null if a side was chosen among configurations, which is not examined. */
  readonly deciding: readonly number[] | null;
}

/**
 * Leaves out each problem in turn. Repeats all comparisons of a language and task, and their adjustment, with
 * the intervals and tests that tables use.
 */
export const sensitivityOf = (board: Board): Sensitivity[] =>
  (areAlone(board) ? [...board.experiment.tasks.keys()] : board.languages).flatMap((language) =>
    board.subjects
      .filter((of) => of.language === language)
      .flatMap((subject) => ofComparisons(board, judgedIn(board, subject))),
  );

const ofComparisons = (board: Board, all: readonly Judged[]): Sensitivity[] => {
  const rows = all.map(({ a, b, subject }) => [rowIn(a, subject), rowIn(b, subject)] as const);
  const isFixed = rows.map(([a, b]) => a.candidates === undefined && b.candidates === undefined);
  const documents = new Map(
    rows.flatMap(([a]) =>
      a.results.flatMap(({ problems }) => problems.map(({ document, id }) => [document, id])),
    ),
  );
  const deciding = all.map((): number[] => []);
  for (const [document, id] of documents) {
    const less = new Map<EvaluationResult, EvaluationResult>();
    const without = (row: Row, metric: string): Row => ({
      ...row,
      results: row.results.map((result) => {
        const known = less.get(result);
        if (known !== undefined) return known;
        const problems = result.problems.filter((problem) => problem.document !== document);
        const made = withProblems(result, problems, metric);
        less.set(result, made);
        return made;
      }),
    });
    const again = judged(
      all.map((one, at) => {
        const [a, b] = rows[at] as readonly [Row, Row];
        const { metric } = one.subject;
        const result = isFixed[at]
          ? board.attempt(() => compareRows(without(a, metric), without(b, metric), metric, board.resampling))
          : one.result;
        return { ...one, result: result ?? one.result };
      }),
    );
    for (const [at, { conclusion }] of again.entries())
      if (isFixed[at] && conclusion.words !== all[at]?.conclusion.words) deciding[at]?.push(id as number);
  }
  return all.map((comparison, at) => ({
    comparison,
    deciding: isFixed[at] ? (deciding[at] ?? []).sort((a, b) => a - b) : null,
  }));
};
