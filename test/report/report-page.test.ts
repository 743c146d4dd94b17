import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { constructedExperiment, writeRecord } from '../../bench/constructed-experiment.mjs';
import { violationsOn } from '../fixtures/accessibility.js';
import { writeConstructedAnalysis } from '../fixtures/mav-vectors.js';
import { writeReportOf } from '../fixtures/tables.js';

const executablePath = process.env['LAYERLOOM_CHROMIUM'] ?? '/usr/bin/chromium';

const rowsOf = (page: Page, within: string): Promise<string[]> =>
  page.locator(`${within} tbody th[scope="row"]`).allTextContents();

// The project does not depend on a browser: .ci/run installs one.
describe.skipIf(!existsSync(executablePath))('the report page', () => {
  let browser: Browser;
  let url: string;
  const root = mkdtempSync(join(tmpdir(), 'layerloom-report-'));
  const hostile = '<img src=x onerror=alert(1)></script>';

  beforeAll(async () => {
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
    const directory = join(root, 'experiment');
    const { models, ...experiment } = constructedExperiment({
      ...{ languages: ['swahili', 'telugu'], gridOf: ['swahili'], alphas: [0.5, 1], problems: 40, directory },
    });
    const renamed = models.map((model) => (model.name === 'math-3' ? { ...model, name: hostile } : model));
    writeRecord({ ...experiment, models: renamed });
    await writeConstructedAnalysis(directory);
    const out = join(directory, 'report.html');
    await writeReportOf({ ...experiment, models: renamed }, { out, samples: 20 });
    url = pathToFileURL(out).href;
  }, 120_000);
  afterAll(async () => {
    await browser.close();
    rmSync(root, { recursive: true, force: true });
  });

  const open = async (options: Parameters<Browser['newPage']>[0] = {}) => {
    const page = await browser.newPage(options);
    const [requests, errors]: [string[], string[]] = [[], []];
    page.on('request', (request) => requests.push(request.url()));
    page.on('pageerror', (error) => errors.push(error.message));
    page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
    await page.goto(url);
    return { page, requests, errors };
  };

  it.each(['light', 'dark'] as const)(
    'breaks no rule of accessibility, contrast included, in %s colours',
    async (colorScheme) => {
      const { page } = await open({ colorScheme });
      await page.evaluate(() => {
        for (const details of document.querySelectorAll('details')) details.open = true;
      });
      expect(await violationsOn(page)).toEqual([]);
      await page.close();
    },
    120_000,
  );

  it('fetches nothing, takes names as text, and works without an error', async () => {
    const { page, requests, errors } = await open();
    await page.getByLabel('Language').last().selectOption('');
    await page.getByRole('searchbox', { name: 'Find' }).fill('onerror');
    await page.getByRole('button', { name: /onerror/ }).click();
    expect(await page.locator('#detail h3').textContent()).toBe(hostile);
    expect(await page.locator('img').count()).toBe(0);
    const best = page.locator('#cost .key a');
    await best.click();
    // The page shows a model after the click.
    await expect.poll(() => page.locator('#detail h3').textContent()).toBe(await best.textContent());
    expect([requests, errors]).toEqual([[url], []]);
    await page.close();
  });

  it('sorts and filters its tables', async () => {
    const { page } = await open();
    const first = '#headline .data-table:last-of-type';
    const table = page.locator(`${first} table`);
    const heading = table.locator('thead th').nth(1);
    await heading.getByRole('button').click();
    expect(await heading.getAttribute('aria-sort')).toBe('descending');
    const values = async () =>
      (await table.locator('tbody tr td:nth-of-type(1)').allTextContents())
        .map((text) => Number.parseFloat(text.replace('−', '-')))
        .filter((value) => !Number.isNaN(value));
    expect(await values()).toEqual([...(await values())].sort((a, b) => b - a));
    await heading.getByRole('button').press('Enter');
    expect(await heading.getAttribute('aria-sort')).toBe('ascending');
    expect(await values()).toEqual([...(await values())].sort((a, b) => a - b));

    const filtered = page.locator(first);
    const all = await rowsOf(page, first);
    await filtered.getByRole('searchbox', { name: 'Filter' }).fill('telugu');
    const some = await rowsOf(page, first);
    expect(some.length).toBe(all.length / 2);
    expect(some.every((label) => /telugu/i.test(label))).toBe(true);
    await page.close();
  });

  it('has a row with the verdict of each language below its sentence', async () => {
    const { page } = await open();
    const rows = page.locator('#headline .data-table').first().locator('tbody tr');
    const sentence = await page.locator('#headline .sentence').textContent();
    expect(await rows.count()).toBeGreaterThan(1);
    for (const row of await rows.all()) {
      expect(sentence).toContain(await row.locator('th').textContent());
      expect(sentence).toContain(await row.locator('td').first().textContent());
    }
    await page.close();
  });

  it('saves a picture as SVG, in light colours and without a style sheet', async () => {
    const { page } = await open({ colorScheme: 'dark' });
    const waiting = page.waitForEvent('download');
    await page
      .getByRole('button', { name: /^Download SVG of / })
      .first()
      .click();
    const saved = readFileSync((await (await waiting).path()) ?? '', 'utf8');
    expect(saved).toMatch(/^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg"/);
    const text = await page.evaluate(() => getComputedStyle(document.body).color);
    expect(saved).toMatch(/<text [^>]*style="fill:rgb/);
    expect(saved).not.toContain(`fill:${text}`);
    await page.close();
  });

  it('changes its colours by choice, against the system', async () => {
    const { page } = await open({ colorScheme: 'light' });
    const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await background();
    await page.getByRole('radio', { name: 'Dark' }).press('Space');
    const dark = await background();
    expect(dark).not.toBe(light);
    await page.getByRole('radio', { name: 'Auto' }).press('Space');
    expect(await background()).toBe(light);
    await page.close();
  });

  it('shows a merge chosen by keyboard, with its layers, recipe and answers', async () => {
    const { page } = await open();
    await page.getByRole('searchbox', { name: 'Find' }).fill('math-1+swh-2 default');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    const detail = page.locator('#detail');
    expect(await detail.locator('h3').textContent()).toBe('swahili/math-1+swh-2/default');
    expect(await detail.locator('svg.stack desc').textContent()).toMatch(
      /layers 30 to 31: swh-2; layers 5 to 29: math-1; layers 0 to 4: swh-2/,
    );
    expect(await detail.locator('.recipe').textContent()).toContain('bottom: 5\ntop: 2\n');

    await detail.getByLabel('Beside').selectOption('swh-2');
    await detail.getByLabel('Show').selectOption('first');
    for (const sample of await detail.locator('.sample').all()) {
      expect(await sample.locator('.answer').first().getAttribute('class')).toContain('right');
      expect(await sample.locator('.answer').last().getAttribute('class')).toContain('wrong');
    }
    await detail.getByLabel('Show').selectOption('all');
    await detail.getByRole('searchbox').fill('wednesday');
    expect(await detail.locator('.sample').count()).toBe(5);
    await page.close();
  });

  it('counts rows anew for one expert, or for all together', async () => {
    const { page } = await open();
    const cells = (expert: number) => page.locator(`table[data-expert="${expert}"] td`).allTextContents();
    const before = [await cells(0), await cells(1)];
    // The page opens at a threshold with a mixed picture: neither all full nor all empty.
    const values = before.flat().map(Number);
    expect(Math.max(...values)).toBeGreaterThan(50);
    expect(Math.min(...values)).toBeLessThan(5);
    await page.getByLabel('one for all experts').uncheck();
    const slider = page.getByRole('slider', { name: 'swh-1' });
    for (let press = 0; press < 4; press++) await slider.press('ArrowLeft');
    expect(await cells(0)).toEqual(before[0]);
    expect(await cells(1)).not.toEqual(before[1]);
    await page.close();
  });

  it('prints as PDF with its tables open', async () => {
    const { page } = await open({ colorScheme: 'dark' });
    const pdf = await page.pdf({ format: 'A4', printBackground: true });
    expect(pdf.subarray(0, 5).toString()).toBe('%PDF-');
    await page.emulateMedia({ media: 'print' });
    await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
    expect(await page.locator('#tables details:not([open])').count()).toBe(0);
    expect(await page.locator('.controls:visible').count()).toBe(0);
    const rows = page.locator('#tables tbody').filter({ has: page.locator('tr:nth-child(61)') });
    expect(await rows.count()).toBeGreaterThan(0);
    await page.evaluate(() => dispatchEvent(new Event('afterprint')));
    expect(await page.locator('#tables details[open]').count()).toBe(0);
    expect(await rows.count()).toBe(0);
    await page.close();
  });
});
