import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

const namedBy = (cell: string) =>
  [...cell.matchAll(/`(?<file>test\/[^`]+)`: (?<titles>[^;]+)/g)].flatMap(({ groups = {} }) => [
    { file: groups['file'] ?? '', titles: (groups['titles'] ?? '').trim() },
  ]);

it('SECURITY.md names tests that are there, in every row', () => {
  const rows = readFileSync(join(root, 'SECURITY.md'), 'utf8')
    .split('\n\n')
    .filter((table) => /^\|.*\| tried by \|/.test(table))
    .flatMap((table) => table.trim().split('\n').slice(2))
    .map((line) => line.split('|').slice(1, -1));
  expect(rows.length).toBeGreaterThanOrEqual(20);
  const missing = rows.flatMap(([what = '', , tried = '']) => {
    const tests = namedBy(tried);
    if (tests.length === 0) return [`${what}: no test`];
    return tests.flatMap(({ file, titles }) => {
      const text = existsSync(join(root, file)) ? readFileSync(join(root, file), 'utf8') : '';
      return unknownIn(titles, text).map((title) => `${file}: ${title}`);
    });
  });
  expect(missing).toEqual([]);
});

/** The listed titles that no test has; tries to join parts, since some titles contain commas. */
const unknownIn = (titles: string, text: string): string[] => {
  const parts = titles.split(', ');
  const unknown: string[] = [];
  for (let first = 0; first < parts.length; ) {
    const lengths = parts.slice(first).map((_, index) => parts.length - first - index);
    const length = lengths.find((each) => text.includes(parts.slice(first, first + each).join(', ')));
    if (length === undefined) unknown.push(parts[first] ?? '');
    first += length ?? 1;
  }
  return unknown;
};
