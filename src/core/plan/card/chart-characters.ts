/**
 * Heights of a bar of one character, lowest first; 0 is a dot, and absence a blank. None fills its line, so
 * that a gap parts the rows.
 */
export const heights = ['▁', '▂', '▃', '▄', '▅', '▆', '▇'] as const;
export const zero = '·';
