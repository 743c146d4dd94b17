import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parseCsv } from '../../src/core/texts/csv.js';
import { analyze, draw, scoreTables } from '../../src/index.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { contentsOf } from '../fixtures/experiment.js';
import { writeFamily } from '../fixtures/family.js';
import { writeStudy } from '../fixtures/written-study.js';

it('draws gains and grids with the numbers of tables beside, twice the same, and replaces no file', async () => {
  const root = temporaryDirectory();
  const [study, out] = [join(root, 'study'), join(root, 'figures')];
  await writeStudy(study, { languages: ['swahili', 'telugu'], gridOf: ['swahili'], problems: 40 });
  const before = contentsOf(study);
  const { pictures, warnings } = await draw(study, { out });
  expect(warnings).toEqual([]);
  const names = ['layers', 'gains-over-base', 'gains-over-expert', 'configurations-swahili-grid'];
  expect(pictures.map(({ svg }) => svg)).toEqual(names.map((name) => `${name}.svg`));
  expect(readdirSync(out)).toHaveLength(8);
  const first = contentsOf(out);

  const svg = (name: string) => readFileSync(join(out, `${name}.svg`), 'utf8');
  const csv = (name: string) =>
    parseCsv(readFileSync(join(out, `${name}.csv`), 'utf8'), { skipsEmpty: true }).rows.slice(1);
  const { tables } = await scoreTables(study, { tables: ['gains'] });
  const gains = tables[0]?.rows.filter(({ id }) => id.endsWith('/base')) ?? [];
  const cells = gains.flatMap(({ cells }) => cells.flatMap((cell) => cell ?? []));
  expect(csv('gains-over-base').map(([, , , , , value]) => Number(value))).toEqual(
    cells.map(({ value }) => Number(Number(value).toPrecision(12))),
  );
  for (const { value, digits } of cells)
    expect(svg('gains-over-base')).toContain(
      `>${Number(value) < 0 ? '−' : '+'}${Math.abs(Number(value)).toFixed(digits)}<`,
    );
  const grid = csv('configurations-swahili-grid').filter(([, , , column]) => column === 'mean');
  expect(grid).toHaveLength(81);
  const drawn = [...svg('configurations-swahili-grid').matchAll(/>(\d+\.\d)</g)].map(([, text]) => text);
  expect(drawn.toSorted()).toEqual(grid.map(([, , , , , value]) => Number(value).toFixed(1)).toSorted());
  expect(svg('configurations-swahili-grid')).toMatch(/<title>Swahili: configurations of grid<\/title>/);

  await expect(draw(study, { out })).rejects.toMatchObject({ code: 'OUTPUT_EXISTS' });
  await draw(study, { out, force: true });
  expect(contentsOf(out)).toEqual(first);
  expect(contentsOf(study)).toEqual(before);
});

it('draws layers of few swaps, or the default with the ends of many', async () => {
  const root = temporaryDirectory();
  const [study, out] = [join(root, 'study'), join(root, 'figures')];
  await writeStudy(study, { languages: ['swahili'], gridOf: ['swahili'], problems: 30 });
  await draw(study, { out });
  const svg = readFileSync(join(out, 'layers.svg'), 'utf8');
  expect(svg).toContain('the default, and those with the fewest and the most swapped layers of 82');
  expect(svg).toContain('layers 0 to 4 swh-1, layers 5 to 5 math-1, layers 6 to 7 swh-1');
  const rows = parseCsv(readFileSync(join(out, 'layers.csv'), 'utf8'), { skipsEmpty: true }).rows;
  const drawn = rows
    .filter(([, , , column]) => column === 'layers')
    .map(([, name, , , , value]) => [name, value]);
  expect(drawn).toEqual([
    ['default', '0-4: swh-1; 5: math-1; 6-7: swh-1'],
    ['grid/b3-u0-tb0-tu0', '0-2: swh-1; 3-7: math-1'],
    ['grid/b5-u2-tb2-tu2', expect.stringMatching(/^0-4: swh-1; /)],
  ]);
});

it('draws scores along task vectors, and an analysis with its overlaps', async () => {
  const root = temporaryDirectory();
  const [study, out] = [join(root, 'study'), join(root, 'figures')];
  await writeStudy(study, { languages: ['swahili'], gridOf: [], problems: 30, alphas: [0.5, 1, 1.5] });
  const { base, a, b } = writeFamily({ layers: 2 });
  const experts = [`math-1=${a}`, `swh-1=${b}`];
  await analyze({ base, experts, topShare: 0.2 }, { out: join(study, 'analysis') });
  const { pictures } = await draw(study, { out });
  const names = pictures.map(({ svg }) => svg);
  expect(names).toEqual(
    expect.arrayContaining([
      ...['alpha-swahili.svg', 'changes-math-1.svg', 'changes-swh-1.svg'],
      ...['overlaps-math-1-swh-1.svg', 'top-overlaps-math-1-swh-1.svg'],
    ]),
  );
  const { tables } = await scoreTables(study, { tables: ['alpha'] });
  const [row] = tables[0]?.rows ?? [];
  const svg = readFileSync(join(out, 'alpha-swahili.svg'), 'utf8');
  for (const cell of row?.cells ?? [])
    if (cell !== null) expect(svg).toContain(`: ${Number(cell.value).toFixed(cell.digits)}<`);
  for (const name of names) {
    expect(readFileSync(join(out, name), 'utf8')).toMatch(/^<svg xmlns=/);
    const table = readFileSync(join(out, name.replace('.svg', '.csv')), 'utf8');
    expect(parseCsv(table, { skipsEmpty: true }).rows.length).toBeGreaterThan(1);
  }
});
