import { type ComparedFacts, type Conclusion, conclude } from '../comparing/conclusion.js';
import { compareRows, holm, type PairedComparison } from '../comparing/paired.js';
import type { Board, Subject } from './board.js';
import { areAlone, distinctGroups, type Group, groupsOf, isMerged, rowIn } from './groups.js';

// Tables, sentences and pictures share each comparison of two groups, so that a page cannot contradict
// itself. A comparison depends on groups, metric, problems, candidates, and the number of comparisons for
// which p is adjusted.

export interface Judged {
  readonly subject: Subject;
  readonly a: Group;
  readonly b: Group;
  readonly result: PairedComparison;
  /** Adjusted p-value; undefined without results by problem. */
  readonly adjusted: number | undefined;
  readonly conclusion: Conclusion;
}

export interface Compared extends Pick<Judged, 'subject' | 'a' | 'b' | 'result'> {
  /** Number of candidates from which each side was chosen on these problems. */
  readonly candidates: ComparedFacts['candidates'];
}

/**
 * Compares every group of merges with every other group on a task; without merges, every pair of groups. p is
 * adjusted for all these comparisons (Holm).
 */
export const judgedIn = (board: Board, subject: Subject): readonly Judged[] =>
  board.remember(`judged ${subject.language} ${subject.task}`, () => {
    const groups = distinctGroups(groupsOf(board, subject));
    const isCompared = areAlone(board) ? () => true : isMerged;
    return judged(
      groups.flatMap((b, at) =>
        groups
          .slice(at + 1)
          .filter(isCompared)
          .flatMap((a): Compared[] => compare(board, a, b, subject)),
      ),
    );
  });

/** Compares two groups; returns an empty list if their problems differ. */
export const compare = (board: Board, a: Group, b: Group, subject: Subject): Compared[] => {
  const nameOf = ({ id, subject: of }: Group): string => `${id} of ${of.language} ${of.task}`;
  const result = board.remember(
    `compared ${nameOf(a)}, ${nameOf(b)}, ${subject.language} ${subject.task}`,
    () =>
      board.attempt(() =>
        compareRows(rowIn(a, subject), rowIn(b, subject), subject.metric, board.resampling),
      ),
  );
  const [first, second] = [a, b].map((group) => rowIn(group, subject).candidates?.length ?? 1) as [
    number,
    number,
  ];
  return result === undefined ? [] : [{ subject, a, b, result, candidates: { first, second } }];
};

interface ComparedSides {
  readonly subject: Pick<Subject, 'metric'>;
  readonly result: PairedComparison;
  readonly candidates?: ComparedFacts['candidates'];
}

export const judged = <Of extends ComparedSides>(
  compared: readonly Of[],
): (Of & Pick<Judged, 'adjusted' | 'conclusion'>)[] => {
  const adjusted = holm(compared.map(({ result }) => result.p));
  const comparisons = adjusted.filter((p) => p !== undefined).length;
  return compared.map((of, at) => {
    const p = adjusted[at];
    const facts: ComparedFacts = {
      ...{ metric: of.subject.metric, candidates: of.candidates },
      ...of.result,
      adjusted: p === undefined ? undefined : { p, comparisons },
    };
    return { ...of, adjusted: p, conclusion: conclude(facts) };
  });
};
