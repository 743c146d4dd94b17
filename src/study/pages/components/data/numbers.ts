import { groupBy } from '../../../../core/base/errors/lookup.js';
import { fixed } from '../../../scores/reading/score-table.js';
import type { PageTask } from './data.js';

export const showScore = (
  value: number | null,
  { unit, digits }: Pick<PageTask, 'unit' | 'digits'>,
): string => (value === null ? '–' : fixed(unit === 'percent' ? 100 * value : value, digits));

export const showNumber = (value: number): string => {
  if (value === 0) return '0';
  const short = Number(value.toPrecision(3));
  return Math.abs(short) < 1e-3 || Math.abs(short) >= 1e7
    ? short.toExponential().replace('e+', 'e')
    : String(short);
};

/** Formats thresholds: `1e-5` if all are equal, else `1e-5 for math-1 and math-2, 1.9e-5 for swh-1`. */
export const showThresholds = (
  experts: readonly { readonly name: string; readonly threshold: number }[],
): string => {
  const alike = groupBy(experts, ({ threshold }) => threshold);
  const named = (of: typeof experts) => of.map(({ name }) => name).join(' and ');
  return [...alike]
    .map(([threshold, of]) =>
      alike.size === 1 ? showNumber(threshold) : `${showNumber(threshold)} for ${named(of)}`,
    )
    .join(', ');
};

const byteUnits = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'] as const;

export const showCost = (value: number, unit: 'bytes' | 'seconds' | 'count'): string => {
  if (unit === 'seconds') return value < 90 ? `${showNumber(value)} s` : `${showNumber(value / 60)} min`;
  if (unit === 'count') return showNumber(value);
  const exponent = Math.min(byteUnits.length - 1, Math.floor(Math.log10(Math.max(value, 1)) / 3));
  return `${showNumber(value / 1000 ** exponent)} ${byteUnits[exponent]}`;
};

const labelPixels = 64;

/** Omits ticks whose labels would overlap: a logarithmic scale gives all ticks of a decade, however close. */
export const spaced = (ticks: readonly number[], at: (tick: number) => number): readonly number[] => {
  const kept: number[] = [];
  for (const tick of ticks) {
    const last = kept.at(-1);
    if (last === undefined || at(tick) - at(last) >= labelPixels) kept.push(tick);
  }
  return kept;
};

export const words = (name: string): string => name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

/** Rounds exact halves to even, as published tables do. Fractions k/4096 often are such halves. */
export const sixDecimals = (fraction: number): string => {
  const scaled = fraction * 1e6;
  const below = Math.floor(scaled);
  return (scaled - below === 0.5 && below % 2 === 0 ? below / 1e6 : fraction).toFixed(6);
};

/** Formats a fraction in percent with two significant digits: `0.031`, `12`, `5e37`. */
export const twoDigits = (fraction: number): string => {
  const percent = 100 * fraction;
  if (percent === 0) return '0';
  if (percent >= 1e4 || percent < 1e-3) return percent.toExponential(0).replace('e+', 'e');
  return percent >= 100 ? percent.toFixed(0) : percent.toPrecision(2);
};

/** Formats a share chosen by the user without needless digits: 0.1 is `10 %`. */
export const percent = (share: number): string => `${Number((100 * share).toPrecision(3))} %`;
