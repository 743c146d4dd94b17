import { LineCounter } from 'yaml';
import { itemAt } from '../../../base/errors/lookup.js';

/** A place as editors show it: line and column from 1, in UTF-16 units. */
export interface Location {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** The line with a caret under the column; empty if it must not be quoted. */
  readonly excerpt: string;
}

export interface RecipeText {
  readonly file: string;
  readonly text: string;
  /** The recipe's range in the text; a model card has other text around it. */
  readonly begin: number;
  readonly end: number;
  readonly lines: LineCounter;
  /** Set if the text has none of the expected keys: it may be any file, so messages do not quote it. */
  readonly foreign?: { readonly reason: string; readonly expected: string };
}

/** An offset in a text; only messages need a `Location`. */
export interface Mark {
  readonly source: RecipeText;
  readonly offset: number;
}

export const sourceOf = (
  file: string,
  text: string,
  { begin, end, foreign }: Pick<RecipeText, 'begin' | 'end'> & { foreign: RecipeText['foreign'] | undefined },
): RecipeText => {
  const lines = new LineCounter();
  lines.addNewLine(0);
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines.addNewLine(at + 1);
  return { file, text, begin, end, lines, ...(foreign === undefined ? {} : { foreign }) };
};

export const locationOf = ({ source: { file, text, lines, foreign }, offset }: Mark): Location => {
  if (foreign !== undefined) return { file, line: 1, column: 1, excerpt: '' };
  const { line, col: column } = lines.linePos(Math.min(offset, text.length));
  const start = itemAt(lines.lineStarts, line - 1);
  // Takes only an excerpt, because a file may be one long line.
  const shown = text.slice(start, start + column - 1 + before + after);
  const end = shown.indexOf('\n', column - 1);
  return { file, line, column, excerpt: excerptOf(end < 0 ? shown : shown.slice(0, end), column) };
};

const before = 60;
const after = 60;

/** Returns an excerpt without control characters, which a terminal would interpret. */
const excerptOf = (line: string, column: number): string => {
  const from = line.length > before + after ? Math.max(0, column - 1 - before) : 0;
  const shown = line
    .slice(from, from + before + after)
    .replace(/\p{Cc}/gu, ' ')
    .trimEnd();
  return `  ${shown}\n  ${' '.repeat(column - 1 - from)}^`;
};
