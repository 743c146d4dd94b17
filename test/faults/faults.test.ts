import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { cases } from '../fixtures/cases.js';
import { bugs } from './bugs.mjs';
import { library } from './seam.mjs';

const { header } = process.report.getReport() as unknown as { header: { glibcVersionRuntime?: string } };

it('each bug that is planted has its place in the compiled program', () => {
  expect(bugs.length).toBeGreaterThan(25);
  for (const { name, file, text } of bugs)
    expect(readFileSync(new URL(`../../dist/${file}`, import.meta.url), 'utf8'), name).toContain(text);
});

// Only Linux with glibc loads the library, which `npm test` builds.
describe.skipIf(process.platform !== 'linux' || header.glibcVersionRuntime === undefined)(
  'under faults',
  () => {
    it('has the library that makes calls fail', () => {
      expect(existsSync(library), 'npx cmake-js build -O native/build -T faults').toBe(true);
    });

    // A fifth are power cuts.
    const seeds = cases(60, 300);
    it(`every command keeps its promises, in ${seeds} seeds`, {
      timeout: 300_000,
    }, () => {
      const { stdout, stderr } = spawnSync(
        process.execPath,
        [fileURLToPath(new URL('simulate.mjs', import.meta.url)), '--mixed', '--seeds', `1:${seeds}`],
        { encoding: 'utf8' },
      );
      expect(stdout + stderr).toMatch(new RegExp(`^${seeds} seeds, 0 of which broke an invariant`, 'm'));
    });

    const schedules = cases(3, 10);
    it(`processes over one store keep them too, in ${schedules} schedules`, { timeout: 300_000 }, () => {
      const { stdout, stderr } = spawnSync(
        process.execPath,
        [fileURLToPath(new URL('schedules.mjs', import.meta.url)), '--seeds', `1:${schedules}`],
        { encoding: 'utf8' },
      );
      expect(stdout + stderr).toMatch(
        new RegExp(`^${schedules} schedules, 0 of which broke an invariant`, 'm'),
      );
    });
  },
);
