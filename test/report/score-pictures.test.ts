import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { constructedExperiment, writeRecord } from '../../bench/constructed-experiment.mjs';
import { sixDecimals } from '../../src/study/pages/components/data/numbers.js';
import { fixed, type ScoreTable } from '../../src/study/scores/reading/score-table.js';
import type { ScoredModel } from '../../src/study/scores/reading/scored-experiment.js';
import { writeConstructedAnalysis } from '../fixtures/mav-vectors.js';
import { exactMatch } from '../fixtures/scored.js';
import { tablesOf, writeReportOf } from '../fixtures/tables.js';

const sectionOf = (html: string, id: string): string => {
  const [, section] = new RegExp(`<section id="${id}"(.*?)</section>`, 's').exec(html) ?? [];
  if (section === undefined) throw new Error(`there is no section ${id}`);
  return section;
};

describe('pictures of scores', () => {
  const root = mkdtempSync(join(tmpdir(), 'layerloom-pictures-'));
  const experiment = constructedExperiment({
    ...{ languages: ['swahili', 'telugu'], gridOf: [], problems: 60, alphas: [0.5, 1, 1.5] },
  });
  let html = '';
  let tables: readonly ScoreTable[] = [];
  beforeAll(async () => {
    const joint = experiment.models
      .filter(({ name }) => name === 'math-3')
      .map((model) => ({ ...model, name: 'joint-1', role: 'joint', languages: ['swahili'] }));
    const models = [...experiment.models, ...joint];
    const out = join(root, 'report.html');
    await writeReportOf({ ...experiment, models }, { out });
    html = readFileSync(out, 'utf8');
    tables = tablesOf({ ...experiment, models });
  }, 60_000);
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  const tableOf = (id: string): ScoreTable => {
    const found = tables.find((table) => table.id === id);
    if (found === undefined) throw new Error(`there is no table ${id}`);
    return found;
  };

  it('have a bar for each method and language of the table of gains, with references that were not merged', () => {
    const section = sectionOf(html, 'gains');
    const { rows, columns } = tableOf('gains');
    const overBase = rows.filter(({ id }) => id.endsWith('/base'));
    expect(overBase.map(({ id }) => id)).toContain('joint/base');
    const bars = overBase.flatMap(({ label, cells }) =>
      cells.flatMap((cell, at) => (cell === null ? [] : [{ label, cell, language: columns[at]?.label }])),
    );
    expect(bars.length).toBeGreaterThan(12);
    for (const { label, cell } of bars) {
      const sign = Number(cell.value) < 0 ? '−' : '+';
      const title = `<title>${label.replace(', over the base', '')}: ${sign}${fixed(Math.abs(Number(cell.value)), cell.digits)}`;
      expect(section).toContain(title);
    }
    expect(section.match(/class="bar"|class="bar bar-reference"/g)).toHaveLength(bars.length);
    // Intervals come from the table; the mean over the languages has none.
    expect(section.match(/class="whisker"/g)).toHaveLength(
      bars.filter(({ cell }) => cell.interval !== undefined).length,
    );
    expect(section).toContain('Mean over the languages');
  });

  it('have a line for each expert and pair of the table along task vectors, and its points', () => {
    const section = sectionOf(html, 'alpha');
    const { rows, columns } = tableOf('alpha');
    // Means of 3, 3 and 9 models in two languages, and those models.
    expect(rows).toHaveLength(2 * (1 + 3 + 1 + 3 + 1 + 9));
    for (const { id, label, cells } of rows) {
      expect(section).toContain(`<title>${label}</title>`);
      if (id.split('/').length === 2)
        for (const [at, cell] of cells.entries())
          if (cell !== null)
            expect(section).toContain(
              `<title>${label}, α = ${columns[at]?.id}: ${fixed(Number(cell.value), cell.digits)}</title>`,
            );
    }
    expect(section.match(/<circle /g)).toHaveLength(
      rows.filter(({ id }) => id.split('/').length === 2).flatMap(({ cells }) => cells.filter(Boolean))
        .length,
    );
  });

  it('have their numbers as CSV and in the result, in tables where the page has none', async () => {
    const directory = join(root, 'whole');
    const { models, ...study } = constructedExperiment({
      ...{ languages: ['swahili'], gridOf: ['swahili'], problems: 40, directory },
    });
    const wrong = (model: ScoredModel): ScoredModel => ({
      ...model,
      results: new Map(
        [...model.results].map(([task, result]) => [
          task,
          {
            ...result,
            metrics: { [exactMatch]: 0 },
            problems: result.problems.map((problem) => ({ ...problem, scores: { [exactMatch]: 0 } })),
          },
        ]),
      ),
    });
    const whole = {
      ...study,
      models: models.map((model) => (model.name === 'swahili/math-1+swh-1/soup' ? wrong(model) : model)),
    };
    writeRecord(whole);
    await writeConstructedAnalysis(directory);
    const [out, csv] = [join(root, 'whole.html'), join(root, 'whole.csv')];
    const { pictures, csv: written } = await writeReportOf(whole, { out, csv });
    expect(written).toBe(csv);
    expect(pictures.map(({ id }) => id)).toEqual([
      'configurations/swahili/grid',
      ...['cost', 'layers', 'regressions-of-merges', 'experts', 'experts/math-1', 'experts/math-1/as-opened'],
      ...['experts/swh-1', 'experts/swh-1/as-opened', 'proposals'],
    ]);
    const lines = readFileSync(csv, 'utf8')
      .trimEnd()
      .split('\n')
      .slice(1)
      .map((line) => line.split(','));
    const valuesOf = (id: string, column?: string): number[] =>
      lines
        .filter(([table, , , of]) => table === id && (column === undefined || of === column))
        .map(([, , , , , value]) => Number(value));
    const page = readFileSync(out, 'utf8');
    const drawnIn = (section: string, pattern: RegExp): string[] =>
      [...page.slice(page.indexOf(`id="${section}"`)).matchAll(pattern)].map(([, value = '']) => value);

    // Checks every cell of the grid, and one against a mean over pairs that is computed here.
    const means = valuesOf('configurations/swahili/grid', 'mean');
    const shown = new Set(means.map((value) => fixed(value, 1)));
    const cells = drawnIn('configurations', /<td class="heat [^>]*title="[^"]*bottom [^>]*>([\d.]+)/g);
    expect(cells).toHaveLength(81);
    expect(cells.filter((cell) => !shown.has(cell))).toEqual([]);
    const variant = 'grid/b3-u1-tb2-tu0';
    const right = whole.models
      .filter((model) => model.variant === variant)
      .map(({ results }) => [...results.values()][0]?.metrics[exactMatch] ?? Number.NaN);
    const line = lines.find(([, row, , column]) => row === variant && column === 'mean');
    expect(Number(line?.[5])).toBeCloseTo((100 * right.reduce((sum, value) => sum + value, 0)) / 9, 9);
    expect(valuesOf('regressions-of-merges', 'merge')).toContain(0);

    const opened = new Set(
      ['math-1', 'swh-1'].flatMap((name) => valuesOf(`experts/${name}/as-opened`)).map(sixDecimals),
    );
    const titles = drawnIn('experts', /title="layer \d+, [\w.]+: ([\d.]+)"/g);
    expect(titles).toHaveLength(2 * 12 * 7);
    expect(titles.filter((title) => !opened.has(title))).toEqual([]);
    // Bytes and layers of each merge.
    expect(valuesOf('cost', 'bytesWritten')).toHaveLength(
      whole.models.filter(({ role }) => role === 'merge').length,
    );

    // A new report replaces its own files only.
    await writeReportOf(whole, { out, csv });
    await expect(writeReportOf(whole, { out, csv: out })).rejects.toThrow(/csv: expected another file/);
    const other = join(root, 'other.csv');
    writeFileSync(other, 'name,score\n');
    await expect(writeReportOf(whole, { out, csv: other })).rejects.toMatchObject({ code: 'OUTPUT_EXISTS' });
  }, 120_000);

  it('are left out where there is nothing to draw', async () => {
    const out = join(root, 'without.html');
    const models = experiment.models.filter(({ role }) => role !== 'merge');
    await writeReportOf({ ...experiment, models }, { out });
    const without = readFileSync(out, 'utf8');
    for (const id of ['gains', 'alpha']) expect(without).not.toContain(`<section id="${id}"`);
  });
});
