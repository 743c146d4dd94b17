import { withoutMarks } from '../evaluation/data/foldings.js';
import type { ProblemResult } from '../evaluation/result.js';

// Comparisons of answers with targets in lm_eval (`exact_match`). Results do not name theirs, so the comparison that
// gives the stored scores is chosen.

export type Folding = (text: string) => string;

/** Comparisons of lm_eval 0.4, by the tasks that use them. */
export const foldings: Readonly<Record<string, Folding>> = {
  /** `ignore_case`, `ignore_punctuation`. */
  mgsm: withoutMarks,
  /** `regexes_to_ignore`, then `ignore_case`. */
  gsm8k: (text) =>
    text
      .replaceAll(',', '')
      .replaceAll('$', '')
      .replace(afterMarks, '')
      .replace(/\.(?=\n?$)/, '')
      .toLowerCase(),
  'letter by letter': (text) => text,
};

const afterMarks = /^[\s\S]*#### /;

export interface Answered {
  readonly problem: ProblemResult;
  readonly target: string;
}

/**
 * Returns the first comparison that gives the stored scores, the task's own first; undefined if none does.
 */
export const foldingOf = (
  task: string,
  problems: readonly Answered[],
  metric: string,
): Folding | undefined => {
  const filter = metric.slice(metric.indexOf(',') + 1);
  const own = Object.keys(foldings).find((name) => task.includes(name));
  return Object.entries(foldings)
    .sort(([a], [b]) => Number(b === own) - Number(a === own))
    .map(([, fold]) => fold)
    .find((fold) =>
      problems.every(({ problem: { answers, scores }, target }) => {
        const answer = answers[filter];
        return answer !== undefined && Number(fold(answer) === fold(target)) === scores[metric];
      }),
    );
};
