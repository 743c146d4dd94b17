import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Browser, chromium } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { evaluateExperiment, runExperiment, watchStudy } from '../../src/index.js';
import type { StudyState } from '../../src/study/pages/study/study-state.js';
import { violationsOn } from '../fixtures/accessibility.js';
import { llama, writeCheckpoint } from '../fixtures/checkpoints.js';
import { cli, finished, startCli } from '../fixtures/cli.js';
import { stubHarness } from '../fixtures/evaluation-errors.js';
import { writeExperiment } from '../fixtures/experiment.js';
import { writeTrained } from '../fixtures/trained.js';

vi.setConfig({ testTimeout: 180_000 });

const lmEval = stubHarness;

const study = async () => {
  const { root, file, out } = writeExperiment(
    '\n  - {name: default, method: layer_swap, bottom: 2, top: 1}\n',
    {
      layers: 4,
    },
  );
  const evaluate = { tasks: { swahili: ['mgsm_direct_sw', 'stub_perplexity'] }, limit: 4 };
  writeFileSync(file, `${readFileSync(file, 'utf8')}\nevaluate: ${JSON.stringify(evaluate)}\n`);
  const training = join(root, 'trained');
  writeTrained(training, join(root, 'base'));
  return { root, file, out, training, page: join(root, 'now.html') };
};

/** Watches until `count` pages are written; `between` may act between two pages. */
const watchFor = async (
  directory: string,
  page: string,
  steps: readonly (() => unknown)[],
  options: { readonly training?: readonly string[] } = {},
): Promise<{ states: StudyState[]; pages: string[]; last: string }> => {
  const controller = new AbortController();
  const [states, pages]: [StudyState[], string[]] = [[], []];
  const work = [...steps];
  await watchStudy(directory, {
    ...{ out: page, every: 1, signal: controller.signal, ...options },
    onWritten: (state) => {
      states.push(state);
      pages.push(readFileSync(page, 'utf8'));
      const step = work.shift();
      if (step === undefined) controller.abort();
      else step();
    },
  });
  return { states, pages, last: pages.at(-1) ?? '' };
};

describe('a watched study', () => {
  it('is shown before, while and after it runs, and in the end on a page that stays as it is', async () => {
    const { root, file, out, training, page } = await study();
    const before = await watchFor(root, page, [], { training: [training] });
    expect(before.states[0]).toMatchObject({ merges: null, scores: null, errors: [], unread: [] });
    expect(before.states[0]?.training?.length).toBeGreaterThan(0);
    expect(before.pages[0]).toContain('<meta http-equiv="refresh" content="1">');
    expect(before.last).not.toContain('http-equiv="refresh"');
    expect(before.last).toContain('training runs finished, no merges yet. The time left is unknown.');

    await runExperiment(file, { out });
    vi.stubEnv('STUB_CRASH', 'math-1+swh-2');
    await evaluateExperiment(out, { lmEval, only: ['base', 'swahili/math-1*'] });
    vi.unstubAllEnvs();
    const { states, last } = await watchFor(out, page, []);
    expect(states[0]).toMatchObject({
      training: null,
      merges: { done: 4, failed: 0, total: 4, isWorking: false, secondsLeft: 0 },
      scores: { done: 4, failed: 2, total: 18, running: [] },
    });
    expect(states[0]?.scores?.secondsLeft).toBeCloseTo(6 * 1.5, 6);
    expect(states[0]?.errors.map(({ what }) => what).sort()).toEqual([
      'swahili/math-1+swh-2/default, mgsm_direct_sw',
      'swahili/math-1+swh-2/default, stub_perplexity',
    ]);
    expect(last).toContain('4 of 4 merges made, 4 of 18 scores made. About 9.0 s left to merge and score.');
    expect(last).toContain('out of memory');
    expect(readdirSync(root).filter((name) => name.includes('partial'))).toEqual([]);
  });

  it('goes on while a result and the record are half written, and says so', async () => {
    const { file, out, page } = await study();
    await runExperiment(file, { out });
    await evaluateExperiment(out, { lmEval, only: ['base'] });
    const folder = join(out, 'evaluations');
    const [name = ''] = readdirSync(folder).filter((each) =>
      /^mgsm_direct_sw-[0-9a-f]{16}\.json$/.test(each),
    );
    const [result, record] = [join(folder, name), join(out, 'experiment.json')];
    const [whole, text] = [readFileSync(result, 'utf8'), readFileSync(record, 'utf8')];
    const { states, pages } = await watchFor(out, page, [
      () => truncateSync(result, 50),
      () => writeFileSync(record, text.slice(0, text.length / 2)),
      () => {
        writeFileSync(result, whole);
        writeFileSync(record, text);
      },
    ]);
    expect(states.map(({ unread }) => unread.length)).toEqual([0, 1, 2, 0, 0]);
    expect(states[1]?.unread).toEqual([expect.stringContaining(name)]);
    expect(states[2]?.unread).toContainEqual(expect.stringContaining('experiment.json'));
    // Figures are those of the look before.
    for (const state of states) expect(state.scores).toMatchObject({ done: 2, total: 18 });
    expect(pages[2]).toContain('Not readable at the moment');
    expect(pages[3]).not.toContain('Not readable at the moment');
  });

  it('has the model that another process scores, with its requests', async () => {
    const { file, out, page } = await study();
    await runExperiment(file, { out });
    vi.stubEnv('STUB_BARS', 'swh-1');
    const scoring = evaluateExperiment(out, { lmEval, only: ['swh-1'] });
    const seen: StudyState[] = [];
    const controller = new AbortController();
    const watching = watchStudy(out, {
      ...{ out: page, every: 1, signal: controller.signal },
      onWritten: (state) => seen.push(state),
    });
    await scoring;
    controller.abort();
    await watching;
    vi.unstubAllEnvs();
    expect(seen.flatMap(({ scores }) => scores?.running ?? [])).toContainEqual({
      model: 'swh-1',
      done: expect.any(Number),
      total: 4,
    });
    expect(seen.at(-1)?.scores).toMatchObject({ done: 2, running: [] });
  });

  it('lists merges that failed', async () => {
    const { root, file, out, page } = await study();
    writeCheckpoint(join(root, 'swh-2'), llama({ layers: 5, seed: 9 }));
    await runExperiment(file, { out });
    const { states, last } = await watchFor(out, page, []);
    expect(states[0]).toMatchObject({ merges: { done: 2, failed: 2, total: 4 } });
    expect(states[0]?.errors.map(({ what, at }) => [what, at])).toEqual([
      ['swahili/math-1+swh-2/default', null],
      ['swahili/math-2+swh-2/default', null],
    ]);
    expect(last).toContain('2 of 4 merges made, 2 failed');
  });

  it('refuses a directory that is not there, a file that is no page, and less than a second', async () => {
    const { root, page } = await study();
    const signal = AbortSignal.abort();
    const codeOf = (work: Promise<unknown>) =>
      work.then(
        () => 'done',
        (error: { code?: string }) => error.code,
      );
    writeFileSync(join(root, 'mine.html'), 'mine');
    expect(await codeOf(watchStudy(join(root, 'none'), { out: page, signal }))).toBe('EXPERIMENT_MISSING');
    expect(await codeOf(watchStudy(root, { out: page, signal, training: [root] }))).toBe('TRAINING_INVALID');
    expect(await codeOf(watchStudy(root, { out: page, signal, every: 0.1 }))).toBe('INVALID_PARAMETER');
    expect(existsSync(page)).toBe(false);
    expect(await codeOf(watchStudy(root, { out: join(root, 'mine.html'), signal }))).toBe('OUTPUT_EXISTS');
    expect(readFileSync(join(root, 'mine.html'), 'utf8')).toBe('mine');
  });

  it.each([
    ['--csv', 'numbers.csv'],
    ['--samples', '3'],
    ['--summaries', 'figures.csv'],
    ['--analysis', 'analysis'],
  ])('is not given %s, which is for the page of results', async (...option) => {
    const { root, page } = await study();
    const { code, stderr } = await cli(['report', root, '--watch', '-o', page, ...option]);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: `error: ${option[0]} is for the page of results; leave it out with --watch\n`,
    });
  });

  it('ends by Ctrl-C with its last page and exit code 0', async () => {
    const { root, page } = await study();
    const child = startCli(['report', root, '--watch', '-o', page, '--every', '60']);
    await vi.waitFor(() => expect(existsSync(page)).toBe(true), { timeout: 60_000, interval: 50 });
    expect(readFileSync(page, 'utf8')).toContain('http-equiv="refresh"');
    child.kill('SIGINT');
    expect(await finished(child)).toMatchObject({ code: 0 });
    expect(readFileSync(page, 'utf8')).not.toContain('http-equiv="refresh"');
  });
});

const executablePath = process.env['LAYERLOOM_CHROMIUM'] ?? '/usr/bin/chromium';

// The project does not depend on a browser: .ci/run installs one.
describe.skipIf(!existsSync(executablePath))('the page of a running study', () => {
  let browser: Browser;
  const root = mkdtempSync(join(tmpdir(), 'layerloom-study-'));

  beforeAll(async () => {
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
  }, 120_000);
  afterAll(async () => {
    await browser.close();
    rmSync(root, { recursive: true, force: true });
  });

  it.each([
    ['light', 1280],
    ['dark', 1280],
    ['light', 390],
    ['dark', 390],
  ] as const)(
    'breaks no rule of accessibility in %s colours, and fits %i pixels',
    async (colorScheme, width) => {
      const { drawStudy } = await import('../../src/study/pages/study/watch-study.js');
      const file = join(root, `${colorScheme}-${width}.html`);
      // A page that reloads breaks that rule, as it must; the last one does not.
      writeFileSync(file, await drawStudy(hostileState(), undefined));
      const page = await browser.newPage({ colorScheme, viewport: { width, height: 900 } });
      const requests: string[] = [];
      page.on('request', (request) => requests.push(request.url()));
      await page.goto(pathToFileURL(file).href);
      expect(await violationsOn(page)).toEqual([]);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
      expect(await page.locator('img').count()).toBe(0);
      expect(requests).toEqual([pathToFileURL(file).href]);
      await page.close();
    },
    120_000,
  );

  it('reads itself again from disk, until its last state', async () => {
    const { file, out } = await study();
    mkdirSync(out);
    const now = join(root, 'now.html');
    const controller = new AbortController();
    let isWritten = false;
    const watching = watchStudy(out, {
      ...{ out: now, every: 1, signal: controller.signal },
      onWritten: () => {
        isWritten = true;
      },
    });
    await vi.waitFor(() => expect(isWritten).toBe(true), { timeout: 60_000 });
    const page = await browser.newPage();
    await page.goto(pathToFileURL(now).href);
    expect(await page.locator('.sentence').textContent()).toContain('No merges yet');
    await runExperiment(file, { out });
    await page.getByText('4 of 4 merges made', { exact: true }).waitFor({ timeout: 30_000 });
    controller.abort();
    await watching;
    await page.getByText('The watch has ended, so this page no longer changes.').waitFor({ timeout: 30_000 });
    await page.close();
  });
});

const hostileState = (): StudyState => ({
  title: 'a-study-with-a-long-name-<img src=x>',
  directory: `/very/${'long/'.repeat(40)}path`,
  at: '2026-01-02T03:04:05.678Z',
  training: [
    ['math-s1-lr5e-6', 'finished', 'task'],
    ['math-s2-lr5e-6', 'diverged', 'task'],
    ['swahili-s1', 'unfinished', 'language'],
    ['swahili-s2', 'absent', 'language'],
  ].map(([name = '', state = '', role = '']) => ({
    name,
    directory: `/training/${name}`,
    role: role as 'task',
    language: role === 'language' ? 'swahili' : null,
    state: state as 'finished',
    expected: 4,
    models: [{ name: `${name}-100`, step: 100, model: `/training/${name}/checkpoints/checkpoint-100` }],
    loss: state === 'absent' ? null : { first: 2.341, last: 0.871 },
    ...(state === 'finished'
      ? {}
      : { problem: `1 of 4 checkpoints exist: bash ${'training/'.repeat(8)}${name}/train.sh` }),
  })),
  merges: {
    ...{ done: 312, failed: 3, total: 729, isWorking: true, secondsLeft: 4000 },
    bytes: { written: 41.2e9, total: 97.4e9 },
  },
  scores: {
    ...{ done: 120, failed: 4, total: 1464, secondsLeft: 33_000 },
    tasks: [
      { task: 'layerloom_mgsm_sw', done: 60, failed: 4, total: 732 },
      { task: 'belebele_swh_Latn', done: 60, failed: 0, total: 732 },
    ],
    running: [{ model: 'swahili/math-1+swh-1/grid/b5-u2-tb0-tu0-uniform', done: 41, total: 250 }],
  },
  errors: [
    {
      at: '2026-01-02T03:00:00.000Z',
      what: 'swahili/math-1+swh-2/grid/b5-u2-tb0-tu0-uniform, layerloom_mgsm_sw',
      message: 'lm_eval failed: RuntimeError: CUDA error: out of memory <script>alert(1)</script>',
    },
    { at: null, what: 'swahili/math-2+swh-2/default', message: 'the models have 4 and 5 layers' },
  ],
  unread: ['/study/evaluations/layerloom_mgsm_sw-0123456789abcdef.json: ends in the middle'],
});
