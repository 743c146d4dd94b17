import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../src', import.meta.url));
const architecture = readFileSync(join(root, '../docs/architecture.md'), 'utf8');

/** The rooms in the order of the page's table: a room imports only rooms above it. */
const order = [...architecture.matchAll(/^\| (`src\/[^|]*)\|/gm)].flatMap(([, cell = '']) =>
  [...cell.matchAll(/`src\/([\w/]+)/g)].map(([, room = '']) => room.replace(/\/$/, '')),
);

/** The wings: each imports only itself and earlier ones. */
const wings = ['core', 'study', 'api', 'index', 'cli'];

const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) => /\.tsx?$/.test(file));

const wingOf = (file: string): string => (file.split('/')[0] ?? '').replace(/\.tsx?$/, '');

const roomOf = (file: string): string | undefined =>
  order.find((room) => file.startsWith(`${room}/`) || file.replace(/\.tsx?$/, '') === room);

const sourceOf = (compiled: string): string => {
  const [plain, withJsx] = [compiled.replace(/\.js$/, '.ts'), compiled.replace(/\.js$/, '.tsx')];
  return files.includes(withJsx) ? withJsx : plain;
};

const imports = new Map(
  files.map((file) => [
    file,
    [...readFileSync(join(root, file), 'utf8').matchAll(/(?:from |import |import\()'(\.[^']+)'/g)].map(
      ([, path = '']) => sourceOf(relative(root, resolve(root, dirname(file), path))),
    ),
  ]),
);

const importsOf = (file: string): readonly string[] => imports.get(file) ?? [];

describe('imports', () => {
  it('are of files that have a place in the order', () => {
    expect(order.length).toBeGreaterThan(20);
    expect(files.filter((file) => roomOf(file) === undefined)).toEqual([]);
    expect([...imports].flatMap(([, imported]) => imported.filter((each) => !files.includes(each)))).toEqual(
      [],
    );
  });

  it('stay in a wing or go to one before it', () => {
    const placeOf = (file: string) => wings.indexOf(wingOf(file));
    expect(files.filter((file) => placeOf(file) < 0)).toEqual([]);
    const back = files.flatMap((file) =>
      importsOf(file)
        .filter((imported) => placeOf(imported) > placeOf(file))
        .map((imported) => `${file} imports ${imported}`),
    );
    expect(back).toEqual([]);
  });

  it('point only upwards', () => {
    const placeOf = (file: string) => order.indexOf(roomOf(file) ?? '');
    const downwards = files.flatMap((file) =>
      importsOf(file)
        .filter((imported) => placeOf(imported) > placeOf(file))
        .map((imported) => `${file} imports ${imported}`),
    );
    expect(downwards).toEqual([]);
  });

  it('do not go round in circles', () => {
    const visiting: string[] = [];
    const done = new Set<string>();
    const visit = (file: string): void => {
      if (visiting.includes(file)) expect.unreachable([...visiting, file].join(' → '));
      if (done.has(file)) return;
      visiting.push(file);
      for (const imported of importsOf(file)) visit(imported);
      visiting.pop();
      done.add(file);
    };
    for (const file of files) visit(file);
  });

  it('give index.ts all that files of api/ export', () => {
    const index = readFileSync(join(root, 'index.ts'), 'utf8');
    const doors = files.filter((file) => /^api\/[^/]+$/.test(file));
    expect(doors.length).toBeGreaterThan(10);
    for (const file of doors) {
      const exported = [...index.matchAll(/export (?:type )?\{([^}]*)\} from '\.\/([^']+)'/g)]
        .filter(([, , path = '']) => sourceOf(path) === file)
        .flatMap(([, names = '']) => names.split(',').map((name) => name.trim().replace(/^type /, '')));
      const own = [...readFileSync(join(root, file), 'utf8').matchAll(/^export (?:async )?\w+ (\w+)/gm)];
      expect(exported.toSorted().filter(Boolean), file).toEqual(own.map(([, name]) => name).toSorted());
    }
  });

  it('of paper/ are in doors alone', () => {
    const doors = ['study/paper', 'api', 'index', 'cli'];
    for (const file of files.filter((each) => !doors.includes(roomOf(each) ?? '')))
      expect(importsOf(file).filter((imported) => roomOf(imported) === 'study/paper')).toEqual([]);
  });
});
