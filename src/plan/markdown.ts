import { visibleLine } from '../visible.js';

/** Puts a text into a fence of Markdown that is longer than any run of backticks in the text. */
export const fenced = (language: string, text: string): string[] => {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return [`${fence}${language}`, text, fence];
};

/** Formats a row of a Markdown table. Cells may have any characters. */
export const tableRow = (...cells: readonly string[]): string =>
  `| ${cells.map((cell) => visibleLine(cell).replaceAll('|', '\\|')).join(' | ')} |`;
