import { stripVTControlCharacters } from 'node:util';

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');

/** Matches durations and rates, which vary between runs; `…` stands for any text within a line. */
const patternOf = (line: string): RegExp =>
  new RegExp(
    `^${escaped(line.trimEnd())
      .replaceAll('…', '.*')
      .replace(/\d[\d\\.]*(?= (?:ms|s|min|[kMGT]?B\/s)\b)/g, '[\\d.]+')}$`,
  );

/**
 * Returns the first shown line that the output lacks in order; undefined if it has all. A line of `…` stands
 * for any lines, a final `…` for the rest of a paragraph.
 */
export const lineNotPrinted = (shown: readonly string[], output: string): string | undefined => {
  const printed = stripVTControlCharacters(output)
    .split('\n')
    .map((line) => line.trimEnd());
  const expected = shown.map((line) => line.trimEnd());
  while (expected.at(0) === '') expected.shift();
  while (expected.at(-1) === '') expected.pop();
  let at = 0;
  let mayJump = true;
  for (const line of expected) {
    if (line.trim() === '…') {
      mayJump = true;
      continue;
    }
    const pattern = patternOf(line);
    const found = printed.findIndex(
      (of, index) => (mayJump ? index >= at : index === at) && pattern.test(of),
    );
    if (found === -1) return line;
    at = found + 1;
    mayJump = line.endsWith('…');
  }
  return undefined;
};
