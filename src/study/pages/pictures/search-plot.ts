import { scaleOf } from '../../scores/reading/metrics.js';
import { fixed } from '../../scores/reading/score-table.js';

export const colours = {
  choice: '#00441b',
  kept: '#41ab5d',
  dropped: '#c9c9c9',
  standard: '#d95f02',
  line: '#b7dfc2',
} as const;

export const plot = { left: 64, top: 96, bottom: 396, panel: 210 } as const;

/** Returns the unit, factor and digits of a metric's scores. Differences of shares are in points. */
export const unitsOf = (
  metric: string | null,
): { readonly unit: string; readonly factor: number; readonly digits: number } =>
  metric === null ? { unit: 'raw', factor: 1, digits: 3 } : scaleOf(metric);

export const formatterOf = (metric: string | null): ((value: number) => string) => {
  const { unit, factor, digits } = unitsOf(metric);
  // For perplexities, log-likelihoods are compared.
  if (unit === 'perplexity') return (value) => fixed(value, 3);
  return (value) => `${fixed(value * factor, digits)}${unit === 'percent' ? ' %' : ''}`;
};
