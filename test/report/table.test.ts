import { describe, expect, it } from 'vitest';
import { plainTable } from '../../src/core/base/table.js';

const rows = [
  ['', 'base', 'language experts', 'task experts'],
  ['swahili', '24.8', '24.7', '29.5'],
];

describe('a table for the terminal', () => {
  it('continues below with its further columns where it is wider than the terminal, each part with its rows', () => {
    expect(plainTable(rows, 1, 34)).toBe(
      [
        '           base  language experts',
        '  swahili  24.8              24.7',
        '',
        '           task experts',
        '  swahili          29.5',
      ].join('\n'),
    );
  });

  it('is whole where it fits', () => {
    const whole = plainTable(rows, 1);
    const width = Math.max(...whole.split('\n').map(({ length }) => length));
    expect(plainTable(rows, 1, width)).toBe(whole);
    expect(plainTable(rows, 1, width - 1)).not.toBe(whole);
  });

  it('keeps a column that is wider than the terminal in one piece', () => {
    expect(plainTable([['name', 'x'.repeat(40)]], 1, 20)).toBe(`  name  ${'x'.repeat(40)}`);
  });
});
