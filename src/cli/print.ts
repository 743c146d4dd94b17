import { stripVTControlCharacters } from 'node:util';
import colours from 'picocolors';
import { madeCommands } from '../core/base/errors/command-line.js';
import { visible, visibleLine } from '../core/base/errors/visible.js';
import { wrap } from '../core/base/wrap.js';
import type { Progress } from '../core/engine/run.js';
import { paintedBar } from './text/painted-bar.js';

export interface Printer {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly progress?: (progress: Progress) => void;
}

let printer: Printer = {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
};

export const printTo = (other: Printer): void => {
  printer = other;
};

export const progressReceiver = (): Printer['progress'] => printer.progress;

/** Prints a line to stderr. Escapes control characters, except in coloured bars. */
export const printLine = (text: string): void => {
  const fitted = text.split('\n').map(fit).join('\n');
  const parts = hasColours() ? fitted.split(paintedBar) : [fitted];
  // The pattern has a capture group, so every second part is a bar.
  printText(parts.map((part, index) => (index % 2 === 0 ? visible(part) : part)).join(''));
};

/** Breaks lines between words and indents the rest. */
const fit = (line: string): string => {
  const width = columns() ?? Number.POSITIVE_INFINITY;
  if (stripVTControlCharacters(line).length <= width) return line;
  // Commands and paths stay on one line, so that they can be copied.
  if (line.startsWith('/') || [...madeCommands.keys()].some((made) => line.includes(made))) return line;
  const own = line.search(/\S/);
  const [first = '', ...others] = wrap(line.trimStart(), Math.max(width - own - 2, 20));
  return [
    `${' '.repeat(own)}${first}`,
    ...others.map((part) => `${' '.repeat(own + 2)}${part.trimStart()}`),
  ].join('\n');
};

/** Does not escape the text, because the reader may save it as a file. */
export const printText = (text: string): void => {
  printer.out(`${text}\n`);
};

let printed: 'nothing' | 'document' | 'events' = 'nothing';

/** How JSON was printed on stdout so far: as a document, or a line per event. */
export const printedJson = (): typeof printed => printed;

export const forgetPrinted = (): void => {
  printed = 'nothing';
};

/** Escapes control characters; the JSON value stays the same. */
export const printJson = (value: unknown): void => {
  printed = 'document';
  printText(visible(JSON.stringify(value, null, 2)));
};

export const printEvent = (event: string, value: object): void => {
  printed = 'events';
  printJsonLine({ event, ...value });
};

export const printJsonLine = (value: object): void => printText(visible(JSON.stringify(value)));

export const note = (text: string): void => {
  printer.err(`${visible(text)}\n`);
};

export const printNext = (command: string | undefined): void => {
  if (command !== undefined) note(`Next: ${command}`);
};

export const warn = (warning: string): void => note(`warning: ${visibleLine(warning)}`);

/** NO_COLOR and FORCE_COLOR override the terminal. */
export const hasColours = (): boolean =>
  colours.isColorSupported && (process.stdout.isTTY || 'FORCE_COLOR' in process.env);

export const stdoutColours = () => colours.createColors(hasColours());

/** Returns the terminal's width; undefined if stdout is not a terminal. */
export const columns = (): number | undefined =>
  process.stdout.isTTY ? process.stdout.columns || undefined : undefined;

/** Returns at most 80, or the width of a narrower terminal. */
export const textWidth = (): number => Math.min(columns() ?? 80, 80);
