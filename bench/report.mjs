/**
 * Measures the report page of a constructed experiment with 729 grid merges × 250 problems, defaults and
 * soups: file size, time to write it, and time from an input to the second frame after it.
 *
 *     npm run build && node bench/report.mjs [--out FILE.html]
 */

import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright-core';
import { writeReportOf } from '../dist/study/pages/report/write-report.js';
import { layouts } from '../dist/study/paper/layouts.js';
import { constructedExperiment, writeRecord } from './constructed-experiment.mjs';

const { values } = parseArgs({ options: { out: { type: 'string' } } });
const root = mkdtempSync(join(tmpdir(), 'layerloom-report-'));
const directory = join(root, 'constructed');
const out = values.out ?? join(root, 'report.html');

/** A reader's actions, as expressions evaluated in the page. */
const interactions = {
  'find a merge': `type('#merges input[type=search]', 'math-2+swh-3 b4')`,
  'choose a merge': `click('#merges .models li:nth-child(2) button')`,
  'compare with another model': `select('#detail select', 1)`,
  'search its answers': `type('#detail input[type=search]', 'wednesday')`,
  'show another page of merges': `click('#merges .pages button:last-child')`,
  'sort all models': `click('#tables details:last-of-type thead th:nth-child(2) button')`,
  'filter all models': `type('#tables details:last-of-type input[type=search]', 'tb2 swh-1')`,
  'choose another variant of the pair matrices': `select('#pairs select', 40)`,
  'choose another cost': `select('#cost select:last-of-type', 1)`,
  'change the colours': `click('.theme label:last-of-type')`,
};

/** Functions of the page for `interactions`. */
const library = `
const element = (selector) => {
  const found = document.querySelector(selector);
  if (found === null) throw new Error('no element ' + selector);
  return found;
};
globalThis.click = (selector) => element(selector).click();
globalThis.type = (selector, text) => {
  const input = element(selector);
  input.value = text;
  input.dispatchEvent(new Event('input', { bubbles: true }));
};
globalThis.select = (selector, index) => {
  const found = element(selector);
  found.selectedIndex = index;
  found.dispatchEvent(new Event('change', { bubbles: true }));
};
globalThis.timed = async (action) => {
  const started = performance.now();
  action();
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  return performance.now() - started;
};
for (const details of document.querySelectorAll('#tables details')) details.open = true;
`;

try {
  const experiment = constructedExperiment({ directory });
  writeRecord(experiment);
  const started = performance.now();
  const { merges, results, bytes } = await writeReportOf(experiment, layouts, { out, force: true });
  console.log(
    `${merges} merges, ${results} results of 250 problems: ${(bytes / 1e6).toFixed(2)} MB, written in ${((performance.now() - started) / 1000).toFixed(1)} s`,
  );
  if (statSync(out).size !== bytes) throw new Error('the file has another size than was reported');
  const browser = await chromium.launch({
    executablePath: process.env['LAYERLOOM_CHROMIUM'] ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu'],
  });
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  await page.goto(pathToFileURL(out).href);
  const loaded = await page.evaluate(() => {
    const [entry] = performance.getEntriesByType('navigation');
    return entry instanceof PerformanceNavigationTiming ? entry.loadEventEnd - entry.startTime : Number.NaN;
  });
  console.log(`opened in ${loaded.toFixed(0)} ms`);
  await page.evaluate(library);
  // Let the page lay out its open tables first.
  await page.waitForTimeout(500);
  for (const [name, action] of Object.entries(interactions)) {
    const first = Number(await page.evaluate(`timed(() => ${action})`));
    await page.waitForTimeout(200);
    console.log(`${String(Math.round(first)).padStart(5)} ms  ${name}`);
  }
  await browser.close();
} finally {
  rmSync(root, { recursive: true, force: true });
}
