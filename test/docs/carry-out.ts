import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { transformSync } from 'esbuild';
import { expect } from 'vitest';
import { parseAllDocuments, parseDocument } from 'yaml';
import { type Command, commandsOf, type Fence, fencesOf, fileOf } from './fences.js';
import { atFullSize, notRun } from './not-run.js';
import { lineNotPrinted } from './shown.js';
import type { Workplace } from './workplace.js';

/** Directories and programs with which the blocks of pages run. */
export interface Place {
  readonly workplace: Workplace;
  readonly fullSize: string;
  /** The command of a Python with the package; without it, Python programs are skipped. */
  readonly python?: string;
}

export const leftOut = Object.values(notRun).flat();

const runnable = /^(layerloom|npx layerloom|npx tsc|node|bash|cd|cp|mkdir|rm|mv|ls|cat) /;

const runCommand = async (
  page: string,
  { line, command, shown }: Command,
  directory: string,
  { workplace }: Place,
) => {
  const { status, stdout, stderr } = await workplace.run(command, directory);
  const printed = `${stdout}${stderr}`;
  if (status !== 0) throw new Error(`${page}:${line}: ${command}\nended with ${status}:\n${printed}`);
  const missing = lineNotPrinted(shown, stdout);
  if (missing !== undefined)
    throw new Error(`${page}:${line}: ${command}\ndid not print in its place:\n${missing}\nbut:\n${printed}`);
};

const runCommands = async (fence: Fence, directory: string, place: Place) => {
  for (const command of commandsOf(fence)) {
    if (leftOut.includes(command.command)) continue;
    if (!runnable.test(command.command))
      throw new Error(
        `${fence.page}:${command.line}: ${command.command}: may not run here; list it in not-run.ts`,
      );
    const isFullSize = fence.language === 'console' && atFullSize.includes(command.command);
    await runCommand(fence.page, command, isFullSize ? place.fullSize : directory, place);
  }
};

export const writeInto = (directory: string, file: string, text: string) => {
  const path = join(directory, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
};

/** Plans recipes and experiments that no command of the page names. */
const planFile = async (fence: Fence, file: string, directory: string, place: Place) => {
  const isNamed = (other: Fence) => /^(sh|console)$/.test(other.language) && other.text.includes(file);
  const [, kind] = /^(method|merge_method|merges):/m.exec(fence.text) ?? [];
  if (kind === undefined || fencesOf(fence.page).some(isNamed)) return;
  const command = `layerloom ${kind === 'merges' ? 'batch' : 'merge'} ${file} --dry-run`;
  await runCommand(fence.page, { line: fence.line, command, shown: [] }, directory, place);
};

const writeYaml = async (fence: Fence, directory: string, place: Place) => {
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
    await planFile(fence, named.file, directory, place);
  }
};

const runProgram = async (fence: Fence, directory: string, place: Place) => {
  const named = fileOf(fence);
  if (named === undefined)
    throw new Error(`${fence.page}:${fence.line}: begins with no comment of a file name`);
  writeInto(directory, named.file, fence.text);
  const script = named.file.replace(/\.ts$/, '.run.mjs');
  if (script !== named.file)
    writeInto(directory, script, transformSync(fence.text, { loader: 'ts', format: 'esm' }).code);
  await runCommand(fence.page, { line: fence.line, command: `node ${script}`, shown: [] }, directory, place);
};

const runPython = async (fence: Fence, directory: string, place: Place) => {
  if (place.python === undefined) return;
  const script = `line-${fence.line}.py`;
  writeInto(directory, script, fence.text);
  const command = `${place.python} ${script}`;
  await runCommand(fence.page, { line: fence.line, command, shown: [] }, directory, place);
};

const carryOut: Readonly<
  Record<string, (fence: Fence, directory: string, place: Place) => void | Promise<void>>
> = {
  sh: runCommands,
  console: runCommands,
  yaml: writeYaml,
  csv: (fence, directory) => writeInto(directory, (fileOf(fence) as { file: string }).file, fence.text),
  ts: runProgram,
  js: runProgram,
  // Excerpts of files, and texts that are no command's output.
  json: ({ text }) => {
    JSON.parse(text.startsWith('"') ? `{${text}}` : text);
  },
  text: () => undefined,
  python: runPython,
};

/**
 * Carries out a page's blocks in order. In a group of tabs all except the first begin in a copy of the
 * directory as it was before the group.
 */
export const carryOutPage = async (page: string, place: Place): Promise<void> => {
  const directory = place.workplace.directory(page);
  let [group, before]: [number | undefined, string] = [undefined, ''];
  for (const fence of fencesOf(page)) {
    const act = carryOut[fence.language];
    if (act === undefined)
      throw new Error(`${page}:${fence.line}: a block of ${fence.language || 'no language'}`);
    const isFirst = fence.group !== group;
    group = fence.group;
    if (group !== undefined && isFirst) {
      before = `${directory}-${group}`;
      cpSync(directory, before, { recursive: true, verbatimSymlinks: true });
    }
    if (group === undefined || isFirst) await act(fence, directory, place);
    else {
      const own = `${before}-${fence.language}`;
      cpSync(before, own, { recursive: true, verbatimSymlinks: true });
      await act(fence, own, place);
    }
  }
};
