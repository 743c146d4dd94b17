import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Papa from 'papaparse';
import { expect, it } from 'vitest';

const docs = join(import.meta.dirname, '../../docs');

it('names the cells of published figures that are no share of a matrix’s rows', () => {
  const page = readFileSync(join(docs, 'analysis.md'), 'utf8');
  const odd = readdirSync(join(docs, 'figures')).flatMap((file) => {
    const { data } = Papa.parse<Record<string, string>>(readFileSync(join(docs, 'figures', file), 'utf8'), {
      header: true,
      skipEmptyLines: true,
    });
    return data.flatMap(({ layer, ...cells }) =>
      Object.entries(cells).flatMap(([matrix, text]) => {
        const rows = matrix.includes('.w2.') ? 14336 : 4096;
        const nearest = Math.round(Number(text) * rows) / rows;
        return Math.abs(nearest - Number(text)) > 0.501e-6 ? [{ layer, text }] : [];
      }),
    );
  });
  expect(odd).toHaveLength(6);
  for (const { layer, text } of odd) expect(page).toMatch(new RegExp(`layer ${layer},\\s\\w+ \\(${text}\\)`));
});
