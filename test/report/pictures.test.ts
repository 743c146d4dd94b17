import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Overlap } from '../../src/core/measure/analysis/overlap.js';
import { drawPicture } from '../../src/study/pages/pictures/draw-picture.js';
import { HeatMap } from '../../src/study/pages/pictures/heat-map.js';
import { OverlapPicture } from '../../src/study/pages/pictures/overlap.js';

const executablePath = process.env['LAYERLOOM_CHROMIUM'] ?? '/usr/bin/chromium';

const heatMap = (title: string, columns: readonly string[] = ['q', 'k']): string =>
  drawPicture(HeatMap, {
    ...{ title, subtitle: 'constructed', columns, most: 0.5 },
    cells: [
      [0, 0.125],
      [0.25, undefined],
      [0.5, 0.75],
    ],
  });

const cellsOf = (svg: string): Map<string, { y: number; fill: readonly number[] }> =>
  new Map(
    [...svg.matchAll(/<rect x="\d+" y="(\d+)"[^>]* fill="rgb\(([^)]+)\)"[^>]*><title>([^<]+)/g)].map(
      ([, y, fill = '', title = '']) => [title, { y: Number(y), fill: fill.split(', ').map(Number) }],
    ),
  );

const overlapOf = (experts: readonly [string, string], cosines: readonly (number | null)[]): Overlap => {
  const part = (layer: number | null, cosine: number | null) => ({
    ...{ layer, cosine, signAgreement: 0.5, rowsAboveInBoth: 0.25 },
  });
  return {
    experts,
    parts: [part(null, 0.9), ...cosines.map((cosine, layer) => part(layer, cosine))],
    whole: part(null, -0.125),
  };
};

describe('a heat map as a file', () => {
  it('has the last layer on top, values as titles, and darker colours for larger values', () => {
    const cells = cellsOf(heatMap('expert'));
    expect([...cells.keys()].sort()).toEqual([
      'layer 0, k: 0.125000',
      'layer 0, q: 0.000000',
      'layer 1, q: 0.250000',
      'layer 2, k: 0.750000',
      'layer 2, q: 0.500000',
    ]);
    const at = (title: string) => {
      const cell = cells.get(title);
      if (cell === undefined) throw new Error(`there is a cell ${title}`);
      return cell;
    };
    expect(at('layer 2, q: 0.500000').y).toBeLessThan(at('layer 1, q: 0.250000').y);
    expect(at('layer 1, q: 0.250000').y).toBeLessThan(at('layer 0, q: 0.000000').y);
    const byValue = ['layer 0, q: 0.000000', 'layer 0, k: 0.125000', 'layer 1, q: 0.250000'];
    const [white = [], light = [], dark = []] = byValue.map((title) => at(title).fill);
    expect(white).toEqual([255, 255, 255]);
    for (const channel of [0, 1, 2]) {
      expect(light[channel]).toBeLessThan(white[channel] ?? 0);
      expect(dark[channel]).toBeLessThan(light[channel] ?? 0);
    }
    // Values above the scale have its darkest colour.
    expect(at('layer 2, k: 0.750000').fill).toEqual(at('layer 2, q: 0.500000').fill);
  });

  it('shortens long names of columns, and has them whole as titles', () => {
    const svg = heatMap('expert', ['q', 'block_sparse_moe.gate']);
    expect(svg).toContain('>block_spars…<title>block_sparse_moe.gate</title>');
  });
});

describe('an overlap as a file', () => {
  it('has a dot for each measure of a layer, none for what is not defined, and tells the whole in words', () => {
    const svg = drawPicture(OverlapPicture, { overlap: overlapOf(['a', 'b'], [0.5, null, -0.25]) });
    expect(svg.match(/<circle /g)).toHaveLength(8);
    expect(svg).toContain('layer 2: cosine −0.250');
    expect(svg).toContain('<desc>Overlap of the changes of a and b by layer: cosine −0.125 in the whole');
    expect(svg).not.toMatch(/NaN|undefined|Infinity/);
  });

  it('draws an expert without a layer that was compared', () => {
    const svg = drawPicture(OverlapPicture, { overlap: overlapOf(['a', 'b'], []) });
    expect(svg).not.toMatch(/NaN|undefined|Infinity|<circle/);
  });
});

// The project does not depend on a browser: .ci/run installs one.
describe.skipIf(!existsSync(executablePath))('files with hostile names', () => {
  let browser: Awaited<ReturnType<typeof chromium.launch>>;
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
  });
  afterAll(() => browser.close());

  const hostile = '</title><script>alert(1)</script>" ]]> \u0001\u001b[31m & &amp;';

  it.each([
    ['heat map', heatMap(hostile, [hostile, 'k'])],
    ['overlap', drawPicture(OverlapPicture, { overlap: overlapOf([hostile, 'b'], [0.5, 0.25]) })],
  ])('are well-formed XML, with the name as text and no script: %s', async (_, svg) => {
    const page = await browser.newPage();
    const parsed = await page.evaluate((text) => {
      const tree = new DOMParser().parseFromString(text, 'image/svg+xml');
      return {
        root: [tree.documentElement.localName, tree.documentElement.namespaceURI],
        title: tree.querySelector('title')?.textContent,
        scripts: tree.getElementsByTagName('script').length,
        errors: tree.getElementsByTagName('parsererror').length,
      };
    }, svg);
    const root = ['svg', 'http://www.w3.org/2000/svg'];
    expect(parsed).toMatchObject({ root, scripts: 0, errors: 0 });
    expect(parsed.title).toContain('</title><script>alert(1)</script>" ]]> \\u0001\\u001b[31m & &amp;');
    await page.close();
  });
});
