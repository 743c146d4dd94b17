import colours from 'picocolors';
import { visible, visibleLine } from '../core/base/visible.js';
import type { Progress } from '../core/engine/run.js';
import { paintedBar } from './text/painted-bar.js';

/** Where a command prints, and shows its progress. */
export interface Printer {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Undefined: a bar on stderr. */
  readonly progress?: (progress: Progress) => void;
}

let printer: Printer = {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
};

/** Prints elsewhere than to the streams of this process, from now on. */
export const printTo = (other: Printer): void => {
  printer = other;
};

/** What receives progress in place of a bar. */
export const progressReceiver = (): Printer['progress'] => printer.progress;

/**
 * Prints data to stdout, with control characters escaped except in our own coloured bars. All else goes to
 * stderr.
 */
export const printLine = (text: string): void => {
  const parts = hasColours() ? text.split(paintedBar) : [text];
  // The pattern captures, so that every second part is a bar.
  printText(parts.map((part, index) => (index % 2 === 0 ? visible(part) : part)).join(''));
};

/** Prints the text of a file for the reader to save, unescaped. */
export const printText = (text: string): void => {
  printer.out(`${text}\n`);
};

let printed: 'nothing' | 'document' | 'events' = 'nothing';

/** The form of the JSON that stdout has so far: one document, or a line for each event. */
export const printedJson = (): typeof printed => printed;

/** Begins the output of a command. */
export const forgetPrinted = (): void => {
  printed = 'nothing';
};

/** Prints indented JSON, escaped as by `printLine`, which leaves its value the same. */
export const printJson = (value: unknown): void => {
  printed = 'document';
  printLine(JSON.stringify(value, null, 2));
};

/** Prints an event as one line of JSON. */
export const printEvent = (event: string, value: object): void => {
  printed = 'events';
  printLine(JSON.stringify({ event, ...value }));
};

/** Prints a message to stderr. */
export const note = (text: string): void => {
  printer.err(`${visible(text)}\n`);
};

/** Prints the command that comes next to stderr. */
export const printNext = (command: string | undefined): void => {
  if (command !== undefined) note(`Next: ${command}`);
};

export const warn = (warning: string): void => note(`warning: ${visibleLine(warning)}`);

/** True if stdout is a terminal that shows colours; NO_COLOR and FORCE_COLOR override. */
const hasColours = (): boolean =>
  colours.isColorSupported && (process.stdout.isTTY || 'FORCE_COLOR' in process.env);

export const stdoutColours = () => colours.createColors(hasColours());
