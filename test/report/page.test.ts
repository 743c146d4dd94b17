import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { scaleLog } from 'd3-scale';
import { chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readVectors } from '../../src/core/measure/analysis/vectors-file.js';
import { analyze } from '../../src/index.js';
import { sixDecimals, spaced } from '../../src/study/pages/components/data/numbers.js';
import { violationsOn } from '../fixtures/accessibility.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';

const executablePath = process.env['LAYERLOOM_CHROMIUM'] ?? '/usr/bin/chromium';

const analyse = async (thresholds: Record<string, number> = {}) => {
  const root = temporaryDirectory();
  const [base = '', one = '', two = ''] = [1, 2, 3].map((seed) =>
    writeCheckpoint(join(root, `model-${seed}`), llama({ seed, hidden: 64, layers: 5 })),
  );
  return await analyze(
    { base, experts: [`one=${one}`, `two <b>=${two}`], threshold: 0.035, thresholds },
    { out: join(root, 'analysis') },
  );
};

const fractionsOn = (page: Page, expert: number): Promise<Record<string, number>> =>
  page
    .locator(`table[data-expert="${expert}"] [data-cell]`)
    .evaluateAll((cells) =>
      Object.fromEntries(
        cells.map((cell) => [
          cell.getAttribute('data-cell'),
          Number(cell.getAttribute('title')?.split(': ')[1]),
        ]),
      ),
    );

// The project does not depend on a browser: .ci/run installs one.
describe.skipIf(!existsSync(executablePath))('the analysis page', () => {
  let browser: Awaited<ReturnType<typeof chromium.launch>>;
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
  });
  afterAll(() => browser.close());

  it('counts rows anew where the slider stands, exactly, and gives them as CSV', async () => {
    const { out, experts } = await analyse();
    const page = await browser.newPage();
    const [requests, errors]: string[][] = [[], []];
    page.on('request', (request) => requests?.push(request.url()));
    page.on('pageerror', (error) => errors?.push(error.message));
    const url = pathToFileURL(join(out, 'index.html')).href;
    await page.goto(url);

    const { vectors, tensors } = await readVectors(join(out, 'one.mav.safetensors'));
    const modules = [
      'self_attn.q_proj',
      'self_attn.k_proj',
      'self_attn.o_proj',
      'mlp.gate_proj',
      'mlp.down_proj',
    ];
    // Names as the model has them.
    const columns = await page.locator('table[data-expert="0"] thead th').allTextContents();
    expect(columns).toEqual(['layer', ...modules.map((module) => module.split('.')[1])]);
    const expected = (threshold: number) =>
      Object.fromEntries(
        Array.from({ length: 5 }, (_, layer) =>
          modules.map((module, column) => {
            const vector = vectors.get(`model.layers.${layer}.${module}.weight`) ?? new Float32Array();
            const above = vector.filter((mav) => mav > threshold).length / vector.length;
            return [`${layer},${column}`, Number(sixDecimals(above))];
          }),
        ).flat(),
      );
    expect(Object.keys(tensors).length).toBe(vectors.size);
    // The page opens at a threshold that a third of the rows exceed; a button selects the analysed one.
    const value = async (): Promise<number> => Number(await page.locator('output').first().textContent());
    const opening = await value();
    const all = [...vectors.entries()].flatMap(([name, vector]) =>
      modules.some((module) => name.includes(module)) ? [...vector] : [],
    );
    const above = all.filter((mav) => mav > opening).length / all.length;
    expect(above).toBeGreaterThan(0.2);
    expect(above).toBeLessThan(0.45);
    expect(await fractionsOn(page, 0)).toEqual(expected(opening));
    await page.getByRole('button', { name: 'As analysed' }).click();
    expect(await fractionsOn(page, 0)).toEqual(expected(experts[0]?.threshold ?? 0));

    const slider = page.getByRole('slider');
    const before = await slider.inputValue();
    for (const key of ['ArrowRight', 'ArrowLeft', 'ArrowLeft', 'ArrowLeft']) await slider.press(key);
    expect(Number(await slider.inputValue())).toBe(Number(before) - 2);
    const threshold = await value();
    expect(threshold).toBeLessThan(0.035);
    const shown = await fractionsOn(page, 0);
    expect(shown).toEqual(expected(threshold));
    expect(shown).not.toEqual(expected(0.035));

    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.locator('[data-download="0"]').click(),
    ]);
    const lines = readFileSync(await download.path(), 'utf8')
      .trim()
      .split('\n');
    expect(lines.map((line) => line.split(',').length)).toEqual(Array(6).fill(6));
    expect(Number(lines[3]?.split(',')[1])).toBe(shown['2,0']);

    // The same component draws the picture beside the page: at its threshold and scale they are the same
    // file.
    const picture = async (): Promise<string> => {
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Download SVG' }).last().click(),
      ]);
      expect(download.suggestedFilename()).toBe('two _b_.svg');
      return readFileSync(await download.path(), 'utf8');
    };
    const cellsOf = (svg: string) =>
      [...svg.matchAll(/<rect x="(\d+)" y="(\d+)"[^>]*fill="(rgb[^"]+)"[^>]*data-cell="([^"]+)"/g)].map(
        ([, ...cell]) => cell,
      );
    const there = readFileSync(join(out, 'two <b>.svg'), 'utf8');
    expect(cellsOf(there)).toHaveLength(25);
    const another = await picture();
    expect(another).toContain(`MAV above ${threshold}`);
    expect(cellsOf(another)).not.toEqual(cellsOf(there));
    await page.getByRole('button', { name: 'As analysed' }).click();
    expect(await fractionsOn(page, 0)).toEqual(expected(0.035));
    const same = await picture();
    expect(same).toMatch(
      /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" [^>]*><title>two &lt;b&gt;<\/title>/,
    );
    expect(same.match(/xmlns=/g)).toHaveLength(1);
    expect(cellsOf(same).map(([, , ...cell]) => cell)).toEqual(cellsOf(there).map(([, , ...cell]) => cell));
    // A single file without network access, in which names are text.
    expect([requests?.filter((request) => !request.startsWith('blob:')), errors]).toEqual([[url], []]);
    expect(await page.locator('table[data-expert="1"] caption b').textContent()).toBe('two <b>');
    expect(await page.locator('b b').count()).toBe(0);
  });

  it('goes back to the thresholds of the files, where experts have their own', async () => {
    const { out } = await analyse({ one: 0.03 });
    const page = await browser.newPage();
    await page.goto(pathToFileURL(join(out, 'index.html')).href);
    const together = page.getByRole('checkbox', { name: 'one for all experts' });
    const shown = () => page.locator('output').allTextContents();
    expect([await together.isChecked(), await shown()]).toEqual([true, [expect.anything()]]);
    await page.getByRole('button', { name: 'As analysed' }).click();
    expect([await together.isChecked(), await shown()]).toEqual([false, ['0.03', '0.035']]);
    const [, ...lines] = readFileSync(join(out, 'one.csv'), 'utf8').trim().split('\n');
    const written = lines.flatMap((line) => {
      const [layer, ...values] = line.split(',');
      return values.map((value, column) => [`${layer},${column}`, Number(value)]);
    });
    expect(await fractionsOn(page, 0)).toEqual(Object.fromEntries(written));
    await page.close();
  });

  it.each(['light', 'dark'] as const)(
    'breaks no rule of accessibility, contrast included, in %s colours',
    async (colorScheme) => {
      const { out } = await analyse();
      const page = await browser.newPage({ colorScheme });
      await page.goto(pathToFileURL(join(out, 'index.html')).href);
      expect(await violationsOn(page)).toEqual([]);
      expect(await page.locator('.advice li').count()).toBe(3);
      await page.close();
    },
    60_000,
  );
});

it('labels a logarithmic scale of two decades without overlaps', () => {
  const x = scaleLog().domain([80e3, 11e6]).range([56, 936]);
  const ticks = spaced(x.ticks(4), x);
  expect(x.ticks(4).length).toBeGreaterThan(ticks.length);
  expect(ticks.length).toBeGreaterThan(4);
  for (const [index, tick] of ticks.slice(1).entries())
    expect(x(tick) - x(ticks[index] ?? Number.NaN)).toBeGreaterThanOrEqual(64);
});
