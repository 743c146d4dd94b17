import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { cli } from '../fixtures/cli.js';

const paper = [1, 2, 5, 6].map((number) =>
  fileURLToPath(new URL(`../../docs/tables/table-${number}.csv`, import.meta.url)),
);

describe('layerloom table', () => {
  it('prints the tables of published figures without an experiment', async () => {
    const { code, stdout, stderr } = await cli(['table', '--summaries', ...paper]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('[table-2/swahili]');
    expect(stdout).toContain('averaged over 4 languages: 1.101.');
  });

  it('writes one table in a format to a file', async () => {
    const out = join(temporaryDirectory(), 'table.tex');
    const args = ['--table', 'table-6', '--format', 'latex', '-o', out];
    const { code, stdout } = await cli(['table', '--summaries', ...paper, ...args]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
    const text = readFileSync(out, 'utf8');
    expect(text.match(/\\begin\{table\}/g)).toHaveLength(1);
    expect(text).toContain('bengali & 36.8 & 37.1 & \\textbf{40.4} & 36.0 \\\\');
  });

  it('writes Parquet to a file, and to a file alone', async () => {
    const out = join(temporaryDirectory(), 'tables.parquet');
    const words = ['table', '--summaries', ...paper, '--format', 'parquet'];
    expect(await cli([...words, '-o', out])).toMatchObject({ code: 0, stdout: '' });
    const rows = await parquetReadObjects({ file: await asyncBufferFromFile(out) });
    const best = rows.filter((row) => row['table'] === 'table-6' && row['row'] === 'bengali' && row['best']);
    expect(best).toMatchObject([{ column: 'soup-of-each', value: 40.4, source: 'imported' }]);
    expect(await cli(words)).toMatchObject({ code: 2, stderr: expect.stringContaining('--out') });
  });

  it('does not write over the figures that it reads', async () => {
    const figures = join(temporaryDirectory(), 'figures.csv');
    copyFileSync(paper[0] ?? '', figures);
    expect(await cli(['table', '--summaries', figures, '-o', figures])).toMatchObject({
      code: 3,
      stdout: '',
    });
    expect(readFileSync(figures)).toEqual(readFileSync(paper[0] ?? ''));
  });

  it('prints JSON with --json', async () => {
    const { stdout } = await cli(['table', '--summaries', ...paper, '--json', '--table', 'table-1']);
    expect(JSON.parse(stdout)).toMatchObject({ tables: [{ id: 'table-1' }] });
  });

  it('asks for an experiment or figures', async () => {
    expect(await cli(['table'])).toMatchObject({
      code: 2,
      stderr: 'error: table needs <dir...>, the directory of an experiment, or --summaries FILE\n',
    });
  });

  it('says what it takes instead of an unknown table or a missing experiment', async () => {
    const unknown = await cli(['table', '--summaries', ...paper, '--table', 'tabel-1']);
    expect(unknown).toMatchObject({ code: 2 });
    expect(unknown.stderr).toContain('did you mean table-1?');
    expect(await cli(['table', temporaryDirectory()])).toMatchObject({ code: 3 });
  });

  it('says that there is nothing to show, and shows nothing', async () => {
    const { code, stdout, stderr } = await cli(['table', '--summaries', ...paper, '--table', 'wins']);
    expect({ code, stdout: stdout.trim() }).toEqual({ code: 0, stdout: '' });
    expect(stderr).toContain('there are no scores for these tables');
  });
});
