import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../src', import.meta.url));

/** The order in which data flows: what stands further down may import what stands above it. */
const order = [
  'base',
  'tensor',
  'checkpoint',
  'model',
  'native',
  'hub',
  'operations',
  'methods',
  'recipe',
  'plan',
  'card',
  'compile',
  'export',
  'engine',
  'store',
  'measure',
  'evaluation',
  'batch',
  'experiment',
  'scores',
  'search',
  'training',
  'documents',
  'doctor',
  'paper',
  'api',
  'index',
  'cli',
];

const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) => /\.tsx?$/.test(file));

const partOf = (file: string): string => (file.split('/')[0] ?? '').replace(/\.tsx?$/, '');

const importsOf = (file: string): string[] =>
  [...readFileSync(join(root, file), 'utf8').matchAll(/from '(\.[^']+)'/g)].map(([, path = '']) =>
    sourceOf(relative(root, resolve(root, dirname(file), path))),
  );

/** The file that a compiled file is of. */
const sourceOf = (compiled: string): string => {
  const [plain, withJsx] = [compiled.replace(/\.js$/, '.ts'), compiled.replace(/\.js$/, '.tsx')];
  return files.includes(withJsx) ? withJsx : plain;
};

describe('imports', () => {
  it.each(files)('of %s point only upwards', (file) => {
    const own = order.indexOf(partOf(file));
    expect(own, `${partOf(file)} has a place in the order`).toBeGreaterThanOrEqual(0);
    for (const imported of importsOf(file))
      expect(order.indexOf(partOf(imported)), `${file} imports ${imported}`).toBeLessThanOrEqual(own);
  });

  it('do not go round in circles', () => {
    const visiting: string[] = [];
    const done = new Set<string>();
    const visit = (file: string): void => {
      expect(visiting, `${[...visiting, file].join(' → ')}`).not.toContain(file);
      if (done.has(file)) return;
      visiting.push(file);
      for (const imported of importsOf(file)) visit(imported);
      visiting.pop();
      done.add(file);
    };
    for (const file of files) visit(file);
  });

  it('of paper/ are in doors alone', () => {
    const doors = ['paper', 'api', 'index', 'cli'];
    for (const file of files.filter((each) => !doors.includes(partOf(each))))
      expect(importsOf(file).filter((imported) => partOf(imported) === 'paper')).toEqual([]);
  });
});
