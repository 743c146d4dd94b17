/** Bars from lowest to highest, without `█`, so that rows do not touch. */
export const heights = ['▁', '▂', '▃', '▄', '▅', '▆', '▇'] as const;
export const zero = '·';
