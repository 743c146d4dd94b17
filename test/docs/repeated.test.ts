import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

// A repeated paragraph on a page is the result of a merge conflict.

const root = new URL('../../', import.meta.url);
const pages = [
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync(new URL('docs', root)).map((page) => `docs/${page}`),
];

it.each(pages.filter((page) => page.endsWith('.md')))('%s says nothing twice', (page) => {
  const lines = readFileSync(new URL(page, root), 'utf8').split('\n');
  const text = lines.filter((line) => !line.startsWith('|')).join(' ');
  const words = text.split(/\s+/);
  const seen = new Set<string>();
  const twice = words.filter((_, at) => {
    const stretch = words.slice(at, at + 30).join(' ');
    if (at + 30 > words.length || !seen.has(stretch)) seen.add(stretch);
    else return true;
    return false;
  });
  expect(twice.slice(0, 10)).toEqual([]);
});
