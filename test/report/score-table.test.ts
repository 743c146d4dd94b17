import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import Papa from 'papaparse';
import { describe, expect, it } from 'vitest';
import { formatTables } from '../../src/api/format-tables.js';
import type { TextFormat } from '../../src/study/pages/score-table/formats.js';
import type { ScoreTable } from '../../src/study/scores/reading/score-table.js';

const table: ScoreTable = {
  id: 'table-1',
  title: 'MGSM by language',
  caption: 'Constructed figures: 100 % & more.',
  notes: ['Metric exact_match,last-number.'],
  derived: [{ id: 'ratio', label: 'swap ÷ others', value: 1.10106, digits: 3 }],
  columns: [
    { id: 'base', label: 'base', kind: 'number' },
    { id: 'swap-best', label: 'swap, best', kind: 'number' },
    { id: 'layers', label: 'layers', kind: 'text' },
  ],
  rows: [
    {
      id: 'swahili/avg',
      label: 'swahili|avg_1',
      cells: [
        { value: 24.8, digits: 1, source: 'imported', n: 1, flag: 'as printed' },
        {
          value: 32.84,
          digits: 1,
          source: 'computed',
          n: 9,
          stderr: 0.764,
          otherHalf: 31.25,
          mark: 'best',
          configuration: 'grid/b3-u0',
        },
        { value: '(3, 0)', digits: 0, source: 'computed' },
      ],
    },
    {
      id: 'telugu/avg',
      label: 'telugu\u001b[31m',
      cells: [
        null,
        { value: -3.25, digits: 1, source: 'computed', n: 9, interval: [-6, -0.04], p: 0.03 },
        null,
      ],
    },
  ],
  refusals: [],
};

const format = (name: TextFormat) => formatTables([table], name);

describe('a table of scores', () => {
  it('is shown in a terminal with errors, intervals, the other half, and its signs below', () => {
    expect(
      format('text')
        .split('\n')
        .map((line) => line.trim()),
    ).toEqual([
      'MGSM by language  [table-1]',
      'Constructed figures: 100 % & more.',
      '',
      'base   swap, best (n = 9)  layers',
      'swahili|avg_1     24.8 †  32.8 ± 0.8 [31.3] *  (3, 0)',
      'telugu\\u001b[31m           -3.3 (-6.0 to 0.0)',
      '',
      'swap ÷ others: 1.101.',
      'Metric exact_match,last-number.',
      '*: the best figure of its row; this is not a test.',
      '±: standard error. For a mean over experts, it includes their variance; for one model, only that of problems. Intervals are in the table `intervals`.',
      'In parentheses: 95 % interval. If the figure was chosen by the same problems, the interval accounts for the choice.',
      '†: imported, not computed from results here.',
    ]);
  });

  it('is Markdown whose cells no name can break', () => {
    const lines = format('markdown').split('\n');
    expect(lines).toContain('| swahili\\|avg_1 | 24.8 † | **32.8 ± 0.8 \\[31.3\\]** | (3, 0) |');
    expect(lines).toContain('| --- | ---: | ---: | --- |');
    expect(lines).toContain('- Metric exact_match,last-number.');
    expect(
      lines.filter((line) => line.startsWith('|')).map((line) => line.match(/(?<!\\)\|/g)?.length),
    ).toEqual([5, 5, 5, 5]);
  });

  it('is LaTeX with the rules of booktabs, escaped', () => {
    const text = format('latex');
    for (const rule of ['\\toprule', '\\midrule', '\\bottomrule', '\\begin{tabular}{lrrl}'])
      expect(text).toContain(rule);
    expect(text).toContain('Constructed figures: 100 \\% \\& more.');
    expect(text).toContain(
      'swahili|avg\\_1 & 24.8 \\dag{} & \\textbf{32.8} {\\scriptsize$\\pm$0.8} {\\scriptsize[31.3]} & (3, 0) \\\\',
    );
    expect(text).toContain(
      'telugu\\textbackslash{}u001b[31m &  & $-3.3$ {\\scriptsize($-6.0$ to 0.0)} &  \\\\',
    );
  });

  it('is CSV with a line for each filled cell, its numbers not rounded', () => {
    const { data, errors } = Papa.parse<Record<string, string>>(format('csv'), { header: true });
    expect(errors).toEqual([]);
    expect(data.map(({ row, column, value }) => [row, column, value])).toEqual([
      ['swahili/avg', 'base', '24.8'],
      ['swahili/avg', 'swap-best', '32.84'],
      ['swahili/avg', 'layers', '(3, 0)'],
      ['telugu/avg', 'swap-best', '-3.25'],
      ['ratio', 'derived', '1.10106'],
    ]);
    expect(data[1]).toMatchObject({
      n: '9',
      stderr: '0.764',
      other_half: '31.25',
      best: 'yes',
      source: 'computed',
    });
    expect(data[0]).toMatchObject({ flag: 'as printed', source: 'imported' });
    expect(data[3]).toMatchObject({ low: '-6', high: '-0.04', p: '0.03', row_label: 'telugu\\u001b[31m' });
  });

  it('is CSV in which no name is a formula', () => {
    const [first, ...rows] = table.rows;
    if (first === undefined) throw new Error('no rows');
    const text = formatTables([{ ...table, rows: [{ ...first, label: '=1+1' }, ...rows] }], 'csv');
    expect(text).toContain(`,"'=1+1",`);
  });

  it('is Parquet with a typed row for each filled cell, numbers as computed, texts apart', async () => {
    const bytes = await formatTables([table], 'parquet');
    const rows = await parquetReadObjects({ file: bytes.slice().buffer });
    expect(rows.map(({ row, column, value, text }) => [row, column, value, text])).toEqual([
      ['swahili/avg', 'base', 24.8, null],
      ['swahili/avg', 'swap-best', 32.84, null],
      ['swahili/avg', 'layers', null, '(3, 0)'],
      ['telugu/avg', 'swap-best', -3.25, null],
      ['ratio', 'derived', 1.10106, null],
    ]);
    expect(rows[1]).toMatchObject({ n: 9, stderr: 0.764, other_half: 31.25, best: true, source: 'computed' });
    expect(rows[0]).toMatchObject({ flag: 'as printed', source: 'imported', best: false, base: null });
    expect(rows[3]).toMatchObject({ low: -6, high: -0.04, p: 0.03, row_label: 'telugu\u001b[31m' });
  });

  it('is Parquet with the same columns where there is no row', async () => {
    const columns = async (tables: readonly ScoreTable[]) => {
      const file = (await formatTables(tables, 'parquet')).slice().buffer;
      return parquetMetadata(file).schema.map(({ name, type, converted_type }) => [
        name,
        type,
        converted_type,
      ]);
    };
    expect(await columns([])).toEqual(await columns([table]));
    expect(await columns([])).toHaveLength(21);
  });

  it('is JSON of the same value', () => {
    expect(JSON.parse(format('json'))).toEqual({ tables: [table] });
  });

  it('is refused in another format', () => {
    expect(() => formatTables([table], 'markdwon' as TextFormat)).toThrow('did you mean markdown?');
  });
});
