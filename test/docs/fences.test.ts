import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { carryOutPage, leftOut, writeInto } from './carry-out.js';
import { commandsOf, fencesOf, fileOf, pages, root } from './fences.js';
import { atFullSize } from './not-run.js';
import { Workplace } from './workplace.js';

// Carries out every command, file and program of the pages in order, page by page, over small models.

let workplace: Workplace;
let fullSize: string;

beforeAll(() => {
  workplace = new Workplace();
  fullSize = workplace.fullSizeDirectory();
});

afterAll(() => workplace.remove());

describe('what a page shows', () => {
  it.for(pages.filter((page) => fencesOf(page).length > 0))('%s', { timeout: 300_000 }, (page) =>
    carryOutPage(page, { workplace, fullSize }),
  );
});

it('has no line in its lists that no page has', () => {
  const shown = pages.flatMap(fencesOf).filter(({ language }) => ['sh', 'console'].includes(language));
  const commands = shown.flatMap(commandsOf).map(({ command }) => command);
  expect([...leftOut, ...atFullSize].filter((command) => !commands.includes(command))).toEqual([]);
});

it('shows programs whose types hold', () => {
  const directory = workplace.directory('types');
  const programs = pages.flatMap(fencesOf).filter(({ language }) => ['ts', 'js'].includes(language));
  for (const [index, fence] of programs.entries())
    writeInto(directory, `${index}-${fileOf(fence)?.file.replaceAll('/', '-')}`, fence.text);
  const configuration = {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: {
      ...{ rootDir: '.', noEmit: true, allowJs: true, checkJs: true, isolatedModules: false },
      ...{ typeRoots: [join(root, 'node_modules/@types')], erasableSyntaxOnly: false },
    },
    include: ['./*-*.*'],
  };
  writeInto(directory, 'tsconfig.json', JSON.stringify(configuration));
  const compiler = join(root, 'node_modules', '.bin', 'tsc');
  const { status, stdout } = spawnSync(compiler, ['-p', directory, '--pretty', 'false'], {
    encoding: 'utf8',
  });
  expect({ status, stdout }).toEqual({ status: 0, stdout: '' });
});

it('has a program in docs/api.md that uses each exported function and value', async () => {
  const programs = fencesOf('docs/api.md').filter(({ language }) => language === 'ts');
  const imported = programs.flatMap(({ text }) =>
    [...text.matchAll(/import \{([^}]*)\} from 'layerloom'/g)].flatMap(([, names = '']) =>
      names.split(',').map((name) => name.trim()),
    ),
  );
  const exported = Object.keys(await import('../../src/index.js'));
  expect(exported.filter((name) => !imported.includes(name))).toEqual([]);
});
