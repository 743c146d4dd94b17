import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parseCsv } from '../../src/core/texts/csv.js';
import { draw, scoreTables } from '../../src/index.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { contentsOf } from '../fixtures/experiment.js';
import { writeStudy } from '../fixtures/written-study.js';

it('draws gains and grids with the numbers of tables beside, twice the same, and replaces no file', async () => {
  const root = temporaryDirectory();
  const [study, out] = [join(root, 'study'), join(root, 'figures')];
  await writeStudy(study, { languages: ['swahili', 'telugu'], gridOf: ['swahili'], problems: 40 });
  const before = contentsOf(study);
  const { pictures, warnings } = await draw(study, { out });
  expect(warnings).toEqual([]);
  const names = ['gains-over-base', 'gains-over-expert', 'configurations-swahili-grid'];
  expect(pictures.map(({ svg }) => svg)).toEqual(names.map((name) => `${name}.svg`));
  expect(readdirSync(out)).toHaveLength(6);
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
