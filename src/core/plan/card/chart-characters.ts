/** Bars from lowest to highest. `█` is left out so that rows do not touch. */
export const heights = ['▁', '▂', '▃', '▄', '▅', '▆', '▇'] as const;
export const zero = '·';
