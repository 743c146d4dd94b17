import { isObject } from '../../core/models/checkpoint/files/json.js';
import type { Rows } from './rows.js';

/** Formats rows as `selected_by` and `problems` of `evaluate:`: `0-49`, or `all`. */
export const rangeText = (rows: Rows | null): string => (rows === null ? 'all' : `${rows[0]}-${rows[1] - 1}`);

export const rangeOf = (text: string): Rows | null => {
  const [, first, last] = /^(\d+)-(\d+)$/.exec(text) ?? [];
  return first === undefined ? null : [Number(first), Number(last) + 1];
};

export const overlap = (a: Rows | null, b: Rows | null): boolean =>
  a === null || b === null || (a[0] < b[1] && b[0] < a[1]);

export const selectedIn = (evaluate: unknown): [task: string, rows: string][] => {
  const selected = isObject(evaluate) ? evaluate['selected_by'] : undefined;
  return Object.entries(isObject(selected) ? selected : {}).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  );
};

/** Returns a model card's note that scores selected the experts. */
export const selectedNote = (evaluate: unknown): string | undefined => {
  const tasks = selectedIn(evaluate).map(([task, rows]) => `${task} (${wordsOf(rows)})`);
  return tasks.length === 0
    ? undefined
    : `The experts were chosen among checkpoints by their scores in ${tasks.join(', ')}. Scores of the merge on these problems are too high; report others`;
};

const wordsOf = (rows: string): string => (rows === 'all' ? 'all problems' : `problems ${rows}`);

/** With fewer problems than this, the standard error is 9 points or more. */
export const fewProblems = 30;
