import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { packageRoot } from '../../src/core/base/files/shipped.js';

// Checks of the notebooks that need no Python; `npm run test:notebooks` executes them.

interface Cell {
  readonly cell_type: string;
  readonly id: string;
  readonly source: readonly string[];
  readonly outputs?: readonly unknown[];
  readonly execution_count?: number | null;
}

interface Notebook {
  readonly nbformat: number;
  readonly nbformat_minor: number;
  readonly cells: readonly Cell[];
}

const folder = join(packageRoot, 'examples/notebooks');
const files = readdirSync(folder).filter((name) => name.endsWith('.ipynb'));
const read = (name: string) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as Notebook;
const textOf = (notebook: Notebook, type: string) =>
  notebook.cells.filter(({ cell_type }) => cell_type === type).map(({ source }) => source.join(''));

const ofPackage = (name: string) => readFileSync(join(packageRoot, 'python/layerloom', name), 'utf8');

const exported = [
  ...Object.keys(JSON.parse(ofPackage('_commands.json')) as object),
  ...[...ofPackage('_public.py').matchAll(/__all__ \+?= \[([^\]]*)\]/g)].flatMap(([, list = '']) =>
    [...list.matchAll(/"(\w+)"/g)].map(([, found = '']) => found),
  ),
];

const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

const anchorsOf = (file: string) =>
  [...readFileSync(file, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading));

it('notebooks are there, and names of the package', () => {
  expect(files).toEqual(['adapters.ipynb', 'figure.ipynb', 'study.ipynb']);
  expect(exported).toEqual(expect.arrayContaining(['swap', 'evaluate', 'open', 'Merge', 'LayerloomError']));
});

describe.each(files)('%s', (name) => {
  const notebook = read(name);

  it('is a notebook of format 4.5 that was not executed', () => {
    expect([notebook.nbformat, notebook.nbformat_minor]).toEqual([4, 5]);
    const ids = notebook.cells.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { id, cell_type, outputs, execution_count } of notebook.cells) {
      expect(id).toMatch(/^[\w-]{1,64}$/);
      if (cell_type === 'code')
        expect({ outputs, execution_count }).toEqual({ outputs: [], execution_count: null });
    }
  });

  it('says first what it needs', () => {
    expect(notebook.cells[0]?.cell_type).toBe('markdown');
    expect(notebook.cells[0]?.source.join('')).toMatch(/^You need `pip install /m);
  });

  it('names what the Python package has', () => {
    const code = textOf(notebook, 'code').join('\n');
    const named = [...code.matchAll(/\blayerloom\.(\w+)/g)].map(([, found = '']) => found);
    expect(named).not.toEqual([]);
    expect(named.filter((one) => !exported.includes(one))).toEqual([]);
  });

  it('links to pages and headings that are there', () => {
    const links = textOf(notebook, 'markdown').flatMap((text) =>
      [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, href = '']) => href),
    );
    const dead = links
      .filter((href) => !href.startsWith('https://'))
      .filter((href) => {
        const [path = '', anchor] = href.split('#');
        const file = join(folder, path);
        return !existsSync(file) || (anchor !== undefined && !anchorsOf(file).includes(anchor));
      });
    expect(links.length).toBeGreaterThan(2);
    expect(dead).toEqual([]);
  });
});
