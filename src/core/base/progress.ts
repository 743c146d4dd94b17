/** States of a training run, a batch or an evaluation, and their words. */
export const progressWords = {
  absent: 'not begun',
  running: 'running',
  unfinished: 'interrupted',
  finished: 'finished',
} as const;

export type ProgressState = keyof typeof progressWords;
