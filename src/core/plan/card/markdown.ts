import { visibleLine } from '../../base/visible.js';

/** Puts a text into a fence of Markdown that is longer than any run of backticks in the text. */
export const fenced = (language: string, text: string): string[] => {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return [`${fence}${language}`, text, fence];
};

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/**
 * Escapes a text of one line for Markdown, whose readers take it as it is: names come from files of others, and a tag,
 * a link or a column's end in one would be read as such. Within words `_` is none of Markdown's signs.
 */
export const markdownText = (text: string): string =>
  visibleLine(text)
    .replace(/[&<>]/g, (sign) => entities[sign] ?? sign)
    .replace(/(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])|[\\`*{}[\]|#~]/gu, (sign) => `\\${sign}`);

/** Formats a row of a Markdown table. Cells may have any characters. */
export const tableRow = (...cells: readonly string[]): string => `| ${cells.map(markdownText).join(' | ')} |`;
