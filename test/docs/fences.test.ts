import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { transformSync } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments, parseDocument } from 'yaml';
import { type Command, commandsOf, type Fence, fencesOf, fileOf, pages, root } from './fences.js';
import { atFullSize, notRun } from './not-run.js';
import { lineNotPrinted } from './shown.js';
import { Workplace } from './workplace.js';

// Every command, file and program that the pages show is carried out in order, page by page, over small models.

let workplace: Workplace;
let fullSize: string;

beforeAll(() => {
  workplace = new Workplace();
  fullSize = workplace.fullSizeDirectory();
});

afterAll(() => workplace.remove());

const leftOut = Object.values(notRun).flat();

/** Programs that pages' commands may run here; others are listed in `not-run.ts`. */
const runnable = /^(layerloom|npx layerloom|npx tsc|node|bash|cd|cp|mkdir|rm|mv|ls|cat) /;

/** Throws with what a command printed, unless it succeeded. */
const runCommand = async (page: string, { line, command, shown }: Command, directory: string) => {
  const { status, stdout, stderr } = await workplace.run(command, directory);
  const printed = `${stdout}${stderr}`;
  if (status !== 0) throw new Error(`${page}:${line}: ${command}\nended with ${status}:\n${printed}`);
  const missing = lineNotPrinted(shown, stdout);
  if (missing !== undefined)
    throw new Error(`${page}:${line}: ${command}\ndid not print in its place:\n${missing}\nbut:\n${printed}`);
};

const runCommands = async (fence: Fence, directory: string) => {
  for (const command of commandsOf(fence)) {
    if (leftOut.includes(command.command)) continue;
    if (!runnable.test(command.command))
      throw new Error(
        `${fence.page}:${command.line}: ${command.command}: may not run here; list it in not-run.ts`,
      );
    const isFullSize = fence.language === 'console' && atFullSize.includes(command.command);
    await runCommand(fence.page, command, isFullSize ? fullSize : directory);
  }
};

const writeInto = (directory: string, file: string, text: string) => {
  const path = join(directory, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
};

/** Carries out recipes and experiments that no command of the page names, up to their plan. */
const planFile = async (fence: Fence, file: string, directory: string) => {
  const isNamed = (other: Fence) => /^(sh|console)$/.test(other.language) && other.text.includes(file);
  const [, kind] = /^(method|merge_method|merges):/m.exec(fence.text) ?? [];
  if (kind === undefined || fencesOf(fence.page).some(isNamed)) return;
  const command = `layerloom ${kind === 'merges' ? 'batch' : 'merge'} ${file} --dry-run`;
  await runCommand(fence.page, { line: fence.line, command, shown: [] }, directory);
};

/** Writes a file that a block shows, or the top-level keys that it shows of one that is there. */
const writeYaml = async (fence: Fence, directory: string) => {
  for (const { errors } of parseAllDocuments(fence.text)) expect(errors).toEqual([]);
  const named = fileOf(fence);
  if (named === undefined) return;
  const path = join(directory, named.file);
  if (named.isPart) {
    const whole = parseDocument(readFileSync(path, 'utf8'));
    for (const [key, value] of Object.entries(parseDocument(fence.text).toJS() as object))
      whole.set(key, value);
    writeFileSync(path, whole.toString());
  } else {
    writeInto(directory, named.file, fence.text);
    await planFile(fence, named.file, directory);
  }
};

/** Writes a program and runs it, without its types. */
const runProgram = async (fence: Fence, directory: string) => {
  const named = fileOf(fence);
  if (named === undefined)
    throw new Error(`${fence.page}:${fence.line}: begins with no comment of a file name`);
  writeInto(directory, named.file, fence.text);
  const script = named.file.replace(/\.ts$/, '.run.mjs');
  if (script !== named.file)
    writeInto(directory, script, transformSync(fence.text, { loader: 'ts', format: 'esm' }).code);
  await runCommand(fence.page, { line: fence.line, command: `node ${script}`, shown: [] }, directory);
};

const carryOut: Readonly<Record<string, (fence: Fence, directory: string) => void | Promise<void>>> = {
  sh: runCommands,
  console: runCommands,
  yaml: writeYaml,
  csv: (fence, directory) => writeInto(directory, (fileOf(fence) as { file: string }).file, fence.text),
  ts: runProgram,
  js: runProgram,
  // Excerpts of files, and texts that are no output of a command.
  json: ({ text }) => {
    JSON.parse(text.startsWith('"') ? `{${text}}` : text);
  },
  text: () => undefined,
  // Needs the package of a wheel, where `npm run test:wheels` runs it.
  python: () => undefined,
};

describe('what a page shows', () => {
  it.for(pages.filter((page) => fencesOf(page).length > 0))('%s', { timeout: 300_000 }, async (page) => {
    const directory = workplace.directory(page);
    for (const fence of fencesOf(page)) {
      const act = carryOut[fence.language];
      if (act === undefined)
        throw new Error(`${page}:${fence.line}: a block of ${fence.language || 'no language'}`);
      await act(fence, directory);
    }
  });
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
