import { heights, zero } from '../../core/plan/card/chart-characters.js';

/** Characters of bars by index of the model. They can be told apart without colour. */
export const shades = ['░', '█', '▓', '▬'] as const;
export const mixtures = ['▒', '▚', '╱'] as const;

/** Matches a coloured bar, the only escape sequence that is printed. */
export const paintedBar = new RegExp(
  `(\\u001b\\[3\\dm[${[...shades, ...mixtures, ...heights, zero].join('')} ]+\\u001b\\[39m)`,
);
