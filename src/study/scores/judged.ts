import type { Board, Subject } from './board.js';
import { type ComparedFacts, type Conclusion, conclude } from './conclusion.js';
import { distinctGroups, type Group, groupsOf, isMerged, rowIn } from './groups.js';
import { compareRows, holm, type PairedComparison } from './paired.js';

// A comparison of two groups of models has one value: the same groups, metric, problems, candidates that a group was chosen
// from, and number of comparisons that p is adjusted for. Whatever shows it (tables, the sentence of the report, its pictures)
// takes it from here, so that a page cannot contradict itself.

/** A comparison of two groups in one task, and what it says. */
export interface Judged {
  readonly subject: Subject;
  readonly a: Group;
  readonly b: Group;
  readonly result: PairedComparison;
  /** p, adjusted for the comparisons that it is one of; undefined without results by problem. */
  readonly adjusted: number | undefined;
  readonly conclusion: Conclusion;
}

/** A comparison of two groups that is not adjusted yet. */
export interface Compared extends Pick<Judged, 'subject' | 'a' | 'b' | 'result'> {
  /** Numbers of candidates of which a group is the best on these very problems. */
  readonly candidates: ComparedFacts['candidates'];
}

/**
 * Returns the comparisons of a language's groups in one of its tasks: every group of merges with every other group. They
 * answer one question, and p is adjusted for all of them (Holm).
 */
export const judgedIn = (board: Board, subject: Subject): readonly Judged[] =>
  board.remember(`judged ${subject.language} ${subject.task}`, () => {
    const groups = distinctGroups(groupsOf(board, subject));
    return judged(
      groups.flatMap((b, at) =>
        groups
          .slice(at + 1)
          .filter(isMerged)
          .flatMap((a): Compared[] => compare(board, a, b, subject)),
      ),
    );
  });

/** Returns the comparison of two groups in a task; nothing if their results are not of the same problems. */
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

/** A comparison of any two sides. */
interface ComparedSides {
  readonly subject: Pick<Subject, 'metric'>;
  readonly result: PairedComparison;
  readonly candidates?: ComparedFacts['candidates'];
}

/** Judges comparisons together: p is adjusted for all of them (Holm). */
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
