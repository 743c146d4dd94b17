/** Bars of one character, lowest first. Even the highest leaves a gap, which separates the rows. */
export const heights = ['▁', '▂', '▃', '▄', '▅', '▆', '▇'] as const;
export const zero = '·';
