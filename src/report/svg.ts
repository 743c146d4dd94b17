import { itemAt } from '../lookup.js';

/** Escapes text for SVG and HTML, in elements and in attributes. */
export const escapeText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** Font of all pictures: the reader's system font. */
export const fontFamily = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';

/**
 * Colour scale from white to dark green in 101 steps of falling lightness: readable in print and without
 * colour.
 */
export const greens: readonly string[] = Array.from({ length: 101 }, (_, step) => {
  const stops = [
    [255, 255, 255],
    [186, 228, 179],
    [49, 163, 84],
    [0, 60, 20],
  ] as const;
  const at = (step / 100) * (stops.length - 1);
  const index = Math.min(stops.length - 2, Math.floor(at));
  const mix = (channel: 0 | 1 | 2) => {
    const [from, to] = [itemAt(stops, index)[channel], itemAt(stops, index + 1)[channel]];
    return Math.round(from + (to - from) * (at - index));
  };
  return `#${[mix(0), mix(1), mix(2)].map((value) => value.toString(16).padStart(2, '0')).join('')}`;
});

/** Returns the colour of a value from 0 to `most`. */
export const green = (value: number, most: number): string =>
  itemAt(greens, Math.round(100 * Math.min(1, most > 0 ? value / most : 0)));

/** Formats a number with at most three significant digits: `1.9e-5`, `0.25`. */
export const formatNumber = (value: number): string => {
  if (value === 0) return '0';
  const short = Number(value.toPrecision(3));
  return Math.abs(short) < 1e-3 ? short.toExponential().replace('e+', 'e') : String(short);
};

export { sixDecimals } from './pages/numbers.js';
