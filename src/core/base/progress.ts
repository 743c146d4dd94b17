export const progressWords = {
  absent: 'not begun',
  running: 'running',
  unfinished: 'interrupted',
  finished: 'finished',
} as const;

export type ProgressState = keyof typeof progressWords;
