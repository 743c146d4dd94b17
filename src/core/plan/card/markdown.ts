import { visibleLine } from '../../base/errors/visible.js';

/** Returns a fenced block. The fence is longer than any run of backticks in the text. */
export const fenced = (language: string, text: string): string[] => {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return [`${fence}${language}`, text, fence];
};

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/** Escapes a line of an untrusted file for Markdown. Underscores inside words need no escape. */
export const markdownText = (text: string): string =>
  visibleLine(text)
    .replace(/[&<>]/g, (sign) => entities[sign] ?? sign)
    .replace(/(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])|[\\`*{}[\]|#~]/gu, (sign) => `\\${sign}`);

export const tableRow = (...cells: readonly string[]): string => `| ${cells.map(markdownText).join(' | ')} |`;
