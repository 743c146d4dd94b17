import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Browser, chromium } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { topOverlapsOf } from '../../src/core/measure/analysis/advice/top-overlap.js';
import type { Overlap } from '../../src/core/measure/analysis/overlap.js';
import { advice } from '../../src/study/pages/analysis/advice.js';
import { analysisOf, stopsPerDecade } from '../../src/study/pages/analysis/analysis-data.js';
import { writeAnalysisPage } from '../../src/study/pages/analysis/analysis-page.js';
import { proposedSwaps } from '../../src/study/pages/analysis/proposed-swaps.js';
import { violationsOn } from '../fixtures/accessibility.js';
import { constructedVectors } from '../fixtures/mav-vectors.js';

const executablePath = process.env['LAYERLOOM_CHROMIUM'] ?? '/usr/bin/chromium';

const layers = 16;
const peaks = { 'math-1': 8, 'math-2': 9, 'math-3': 10, 'swh-1': 0, 'swh-2': 1, 'swh-3': 2 };
const names = Object.keys(peaks);
const roles = new Map(
  names.map((name) => [name, name.startsWith('math') ? ('task' as const) : ('language' as const)]),
);
const vectors = Object.entries(peaks).map(([name, peak]) => constructedVectors(name, { layers, peak }));

/** Overlaps of all pairs: experts of one role are related. */
const overlaps = names.flatMap((a, at) =>
  names.slice(at + 1).map((b): Overlap => {
    const cosine = roles.get(a) === roles.get(b) ? 0.5 : 0.02;
    const part = (layer: number | null) => ({ layer, cosine, signAgreement: 0.6, rowsAboveInBoth: 0.2 });
    return {
      experts: [a, b],
      parts: [part(null), ...Array.from({ length: layers }, (_, layer) => part(layer))],
      whole: part(null),
    };
  }),
);
const proposals = proposedSwaps(vectors, roles);

const drawn = (): Promise<string> =>
  writeAnalysisPage(
    analysisOf(vectors, overlaps, {
      ...{ bottom: 3, top: 1, roles, proposals },
      thresholds: vectors.map(() => 1e-5),
      topOverlaps: topOverlapsOf(vectors, 0.1),
      perDecade: stopsPerDecade.analysis,
    }),
  );

const textOf = (html: string): string =>
  html
    .replaceAll(/<(script|style)[^>]*>.*?<\/\1>/gs, '')
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll(/\s+/g, ' ');

describe('the page of six experts', () => {
  it('has at most five sentences before the first picture, which name pairs by the roles of their experts', async () => {
    const html = await drawn();
    const before = html.slice(html.indexOf('<body'), html.indexOf('<svg'));
    const sentences = textOf(before).match(/[a-z)]\. /g) ?? [];
    expect(sentences.length).toBeGreaterThan(1);
    expect(sentences.length).toBeLessThanOrEqual(5);
    expect(textOf(before)).toContain('The 9 pairs of a task and a language expert changed');
    expect(textOf(before)).toContain('The 3 pairs of two task experts and 3 pairs of two language experts');
  });

  it('folds further sentences', async () => {
    const six = Array.from({ length: 6 }, (_, at) => {
      const ends = [0.02, 0.2, 0.1][at % 3] ?? 0;
      const own = Array.from({ length: 8 }, (_, layer) => (layer < 2 || layer === 7 ? ends : 0.1));
      return {
        ...{ name: `x-${at}`, bottom: 2 * ends, middle: 0.5, top: ends, outside: 0, layers: own },
      };
    });
    const each = new Map(
      six.map(({ name }, at) => [name, at < 3 ? ('task' as const) : ('language' as const)]),
    );
    expect(advice({ shares: six, overlaps: [], roles: each }, 2, 1)).toHaveLength(6);
    const page = analysisOf(vectors, overlaps, {
      ...{ bottom: 3, top: 1, roles, thresholds: vectors.map(() => 1e-5), perDecade: 12 },
    });
    const many = Array.from({ length: 7 }, (_, at) => `Finding ${at} is constructed.`);
    const html = await writeAnalysisPage({ ...page, advice: many });
    expect(html).toMatch(/Finding 4 is constructed\.<\/li><\/ul><details><summary>2 more findings/);
  });

  it('has the proposals as they are in proposals.json, and pairs that a swap merges before others', async () => {
    const html = await drawn();
    const section = html.slice(html.indexOf('id="proposals"'), html.indexOf('id="overlaps"'));
    expect(section.match(/<tr>/g)).toHaveLength(1 + 9);
    for (const { task, language, bottom, top, command } of proposals) {
      expect(textOf(section)).toMatch(new RegExp(`${task} and ${language} ${bottom} \\([^)]*\\) ${top} \\(`));
      expect(section).toContain(command);
    }
    const groups = [...html.matchAll(/<details class="group"( open)?><summary>([^<]+)</g)];
    expect(groups.slice(0, 3).map(([, open, title]) => [open !== undefined, title])).toEqual([
      [true, 'A task and a language expert (9 pairs)'],
      [false, 'Two task experts (3 pairs)'],
      [false, 'Two language experts (3 pairs)'],
    ]);
  });
});

// The project does not depend on a browser: .ci/run installs one.
describe.skipIf(!existsSync(executablePath))('the page of six experts in a browser', () => {
  let browser: Browser;
  let url: string;
  const root = mkdtempSync(join(tmpdir(), 'layerloom-six-'));
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
    const file = join(root, 'six.html');
    writeFileSync(file, await drawn());
    url = pathToFileURL(file).href;
  }, 60_000);
  afterAll(async () => {
    await browser.close();
    rmSync(root, { recursive: true, force: true });
  });

  it.each([
    [1280, 'light'],
    [390, 'dark'],
  ] as const)(
    'is no wider than a screen of %i pixels, and breaks no rule of accessibility in %s colours',
    async (width, colorScheme) => {
      const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme });
      await page.goto(url);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
      expect(await violationsOn(page)).toEqual([]);
      await page.close();
    },
    120_000,
  );
});
