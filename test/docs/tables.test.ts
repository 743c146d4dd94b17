import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { fileOf, pages, tables, withTables } from '../../scripts/docs-tables.mjs';

describe('tables of settings', () => {
  it.each(pages)('in docs/%s.md are those of the definitions; else run `npm run docs:tables`', (page) => {
    const text = readFileSync(fileOf(page), 'utf8');
    expect(text).toBe(withTables(text));
  });

  it('all stand on a page', () => {
    const all = pages.map((page) => readFileSync(fileOf(page), 'utf8')).join('\n');
    expect([...tables.keys()].filter((name) => !all.includes(`<!-- settings: ${name} -->`))).toEqual([]);
  });

  it('have words for every key', () => {
    for (const [name, table] of tables)
      for (const row of table.split('\n').slice(2)) expect(row, name).not.toMatch(/\| *\|/);
  });
});
