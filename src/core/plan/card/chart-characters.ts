/** Lowest first. Even the highest leaves a gap between rows. */
export const heights = ['▁', '▂', '▃', '▄', '▅', '▆', '▇'] as const;
export const zero = '·';
