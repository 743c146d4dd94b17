import { existsSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { describe, expect, it } from 'vitest';
import { generated, pageOf, presentGroups, root, sources, targetOf, titleOf } from '../site/pages.mjs';

// Checks of the site that need no build; the build follows every link (site/check-links.mjs).

const pages = sources().filter((source) => !source.startsWith(generated));
const text = (source: string) => readFileSync(`${root}${source}`, 'utf8');

const linksOf = (source: string): string[] =>
  [
    ...text(source)
      .replace(/```.*?```|`[^`\n]*`/gs, '')
      .matchAll(/\]\(([^)\s]+)\)/g),
  ].map(([, href]) => href as string);

describe('the site', () => {
  it('has no two pages at one place', () => {
    const places = pages.map(pageOf);
    expect(new Set(places).size).toBe(places.length);
  });

  it('lists every page of docs/ once, and by its heading', () => {
    const listed = presentGroups().flatMap((group) => [...group.sources, ...group.contributing]);
    const docs = pages.filter((source) => source.startsWith('docs/'));
    expect(docs).toContain('docs/tutorials/mergekit.md');
    expect(docs.filter((source) => listed.filter((other) => other === source).length !== 1)).toEqual([]);
    expect(listed.map(titleOf)).not.toContain('');
  });

  it.each(pages)('has what %s links to', (source) => {
    const relative = linksOf(source).filter((href) => !/^([a-z]+:|\/|#)/.test(href));
    expect(relative.filter((href) => !existsSync(`${root}${targetOf(source, href).path}`))).toEqual([]);
  });

  it('resolves links from the folder of the page', () => {
    expect(targetOf('docs/tutorials/node.md', '../methods.md#slices')).toEqual({
      path: posix.join('docs', 'methods.md'),
      anchor: 'slices',
    });
  });
});
