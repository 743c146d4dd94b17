import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../', import.meta.url));

export interface Fence {
  readonly page: string;
  readonly line: number;
  /** The word after the backticks: `sh`, `console`, `ts`, … */
  readonly language: string;
  /** A file name there: `csv title=scores.csv`, for formats without comments. */
  readonly title?: string | undefined;
  /** Line of the mark `<!-- tabs -->`, for a block in a group that shows the same in several languages. */
  readonly group?: number | undefined;
  readonly text: string;
}

const markdownIn = (folder: string, recursive = false): string[] =>
  readdirSync(`${root}${folder}`, { recursive })
    .map(String)
    .filter((name) => name.endsWith('.md'))
    .sort()
    .map((name) => `${folder}${name}`);

export const pages = [
  'README.md',
  'CONTRIBUTING.md',
  ...markdownIn('docs/', true),
  ...markdownIn('examples/', true),
  ...markdownIn('skills/', true),
];

/**
 * Returns the fenced blocks of a page in order.
 *
 * @throws Error for a block without end
 */
export const fencesOf = (page: string): Fence[] => {
  const fences: Fence[] = [];
  let open:
    | { line: number; language: string; title: string | undefined; indent: string; lines: string[] }
    | undefined;
  let group: number | undefined;
  for (const [index, line] of readFileSync(`${root}${page}`, 'utf8').split('\n').entries()) {
    const [, indent = '', language = '', title] = /^( *)```(.*?)(?: title=(\S+))?$/.exec(line) ?? [];
    if (open === undefined) {
      if (/^ *```/.test(line)) open = { line: index + 1, language, title, indent, lines: [] };
      else if (/^<!-- \/?tabs -->$/.test(line)) group = line.includes('/') ? undefined : index + 1;
    } else if (line === `${open.indent}\`\`\``) {
      const text = open.lines.map((of) => `${of}\n`).join('');
      fences.push({ page, line: open.line, language: open.language, title: open.title, group, text });
      open = undefined;
    } else open.lines.push(line.startsWith(open.indent) ? line.slice(open.indent.length) : line);
  }
  if (open !== undefined) throw new Error(`${page}:${open.line}: the block does not end`);
  return fences;
};

export interface Command {
  readonly line: number;
  readonly command: string;
  readonly shown: readonly string[];
}

const commandsOfScript = ({ line, text }: Fence): Command[] => {
  const commands: Command[] = [];
  let begun: { line: number; command: string } | undefined;
  for (const [index, part] of text.split('\n').entries()) {
    const { line: first, command } = begun ?? { line: line + 1 + index, command: '' };
    begun = undefined;
    if (part.endsWith('\\')) begun = { line: first, command: `${command}${part}\n` };
    else if (command !== '' || (part.trim() !== '' && !part.trim().startsWith('#')))
      commands.push({ line: first, command: `${command}${part}`, shown: [] });
  }
  return commands;
};

const commandsOfSession = ({ page, line, text }: Fence): Command[] => {
  const commands: { line: number; command: string; shown: string[] }[] = [];
  for (const [index, part] of text.trimEnd().split('\n').entries()) {
    const last = commands.at(-1);
    if (part.startsWith('$ ')) commands.push({ line: line + 1 + index, command: part.slice(2), shown: [] });
    else if (last === undefined) throw new Error(`${page}:${line}: a console block begins with "$ "`);
    else last.shown.push(part);
  }
  return commands;
};

export const commandsOf = (fence: Fence): Command[] =>
  fence.language === 'console' ? commandsOfSession(fence) : commandsOfScript(fence);

/**
 * Returns the file that a block shows, named by the comment in its first line: `# ties.yaml`, `// swap.mjs`.
 * `# in study.yaml` means some keys of an existing file.
 */
export const fileOf = ({ text, title }: Fence): { file: string; isPart: boolean } | undefined => {
  if (title !== undefined) return { file: title, isPart: false };
  const [, within, file] =
    /^(?:#|\/\/) (in )?([\w./-]+\.(?:ya?ml|m?[jt]s|json|csv))(?:[:,].*)?\n/.exec(text) ?? [];
  return file === undefined ? undefined : { file, isPart: within !== undefined };
};
