import { h } from 'preact';
import { render } from 'preact-render-to-string';
import { describe, expect, it } from 'vitest';
import { Gains } from '../../src/study/pages/components/charts/gains.js';
import type { ReportData } from '../../src/study/pages/components/data/data.js';

/** Pixel widths of characters in DejaVu Sans at 12 px, one of the widest fonts in use. */
const widthOf = (text: string): number =>
  [...text].reduce(
    (sum, character) => sum + (/\d/.test(character) ? 7.64 : character === '.' ? 3.82 : 10.06),
    0,
  );

describe('the picture of gains', () => {
  it.each([
    ['per cent', 31.2, 1],
    ['perplexities', 12.345, 3],
    ['figures without a scale', 1234.567, 3],
  ])('keeps the widest interval off its number: %s', (_, value, digits) => {
    const cell = { value, digits, interval: [value / 2, value * 1.5] };
    const table = {
      ...{ id: 'gains', title: 'Gains', columns: [{ id: 'swahili', label: 'swahili' }] },
      rows: [{ id: 'merged/base', label: 'Soups, over the base', cells: [cell] }],
    };
    const html = render(h(Gains, { data: { tables: [table] } as unknown as ReportData }));
    const whisker = /class="whisker" d="M[\d.]+ [\d.]+H([\d.]+)M/.exec(html)?.[1];
    const [, end, text = ''] = /<text x="(\d+)" y="[\d.]+" text-anchor="end">([^<]*)</.exec(html) ?? [];
    expect(text).toBe(`+${value.toFixed(digits)}`);
    expect(Number(end) - widthOf(text) - Number(whisker)).toBeGreaterThan(4);
    expect(Number(whisker)).toBeGreaterThan(200);
  });
});
