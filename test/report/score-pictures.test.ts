import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { constructedExperiment } from '../../bench/constructed-experiment.mjs';
import { fixed, type ScoreTable } from '../../src/scores/score-table.js';
import { tablesOf, writeReportOf } from '../fixtures/tables.js';

/** The section of a page with an id, as text. */
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
    // Intervals are the table's; the mean over the languages has none.
    expect(section.match(/class="whisker"/g)).toHaveLength(
      bars.filter(({ cell }) => cell.interval !== undefined).length,
    );
    expect(section).toContain('Mean over the languages');
  });

  it('have a line for each expert and pair of the table along task vectors, and its points', () => {
    const section = sectionOf(html, 'alpha');
    const { rows, columns } = tableOf('alpha');
    // Means of 3, 3 and 9, in two languages, and what they are of.
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

  it('are left out where there is nothing to draw', async () => {
    const out = join(root, 'without.html');
    const models = experiment.models.filter(({ role }) => role !== 'merge');
    await writeReportOf({ ...experiment, models }, { out });
    const without = readFileSync(out, 'utf8');
    for (const id of ['gains', 'alpha']) expect(without).not.toContain(`<section id="${id}"`);
  });
});
