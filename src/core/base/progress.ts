/** How far a training run, a batch or an evaluation is, and the words for it. */
export const progressWords = {
  absent: 'not begun',
  running: 'running',
  unfinished: 'interrupted',
  finished: 'finished',
} as const;

export type ProgressState = keyof typeof progressWords;
