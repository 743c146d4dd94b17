import { LineCounter } from 'yaml';

/** A place in a recipe, as people and editors count: lines and columns (UTF-16 units) from 1. */
export interface Location {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** The line of the file, and below it a caret under the column. */
  readonly excerpt: string;
}

/** The text of a recipe's file. */
export interface RecipeText {
  /** As messages name it. */
  readonly file: string;
  readonly text: string;
  readonly lines: LineCounter;
}

/** A place kept as an offset: it becomes a `Location` only where something is wrong. */
export interface Mark {
  readonly source: RecipeText;
  readonly offset: number;
}

export const sourceOf = (file: string, text: string): RecipeText => {
  const lines = new LineCounter();
  lines.addNewLine(0);
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines.addNewLine(at + 1);
  return { file, text, lines };
};

export const locationOf = ({ source: { file, text, lines }, offset }: Mark): Location => {
  const { line, col: column } = lines.linePos(Math.min(offset, text.length));
  const start = lines.lineStarts[line - 1] ?? 0;
  const end = text.indexOf('\n', start);
  return { file, line, column, excerpt: excerptOf(text.slice(start, end < 0 ? undefined : end), column) };
};

/** What is shown of a line that a screen does not hold, before the column and after it. */
const before = 60;
const after = 60;

/** Control characters are shown as spaces: a recipe says nothing to a terminal, and the caret stands where it should. */
const excerptOf = (line: string, column: number): string => {
  const from = line.length > before + after ? Math.max(0, column - 1 - before) : 0;
  const shown = line
    .slice(from, from + before + after)
    .replace(/\p{Cc}/gu, ' ')
    .trimEnd();
  return `  ${shown}\n  ${' '.repeat(column - 1 - from)}^`;
};
