import { heights, zero } from '../../core/plan/card/chart-characters.js';

/** Shades of models, by their index, and of what is computed from several: they differ without colour too. */
export const shades = ['░', '█', '▓', '▬'] as const;
export const mixtures = ['▒', '▚', '╱'] as const;

/** Matches a coloured bar: the only escape sequences that are printed. */
export const paintedBar = new RegExp(
  `(\\u001b\\[3\\dm[${[...shades, ...mixtures, ...heights, zero].join('')} ]+\\u001b\\[39m)`,
);
