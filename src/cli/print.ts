import colours from 'picocolors';
import { paintedBar } from '../report/layer-stack.js';
import { visible, visibleLine } from '../visible.js';

/** Data goes to stdout; everything else to stderr. What a terminal would act on is shown escaped, but for our own colours. */
export const printLine = (text: string): void => {
  const parts = hasColours() ? text.split(paintedBar) : [text];
  // Every second part is a bar.
  printText(parts.map((part, index) => (index % 2 === 0 ? visible(part) : part)).join(''));
};

/** The text of a file that the reader is to keep: as it is. */
export const printText = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

export const printJson = (value: unknown): void => printLine(JSON.stringify(value, null, 2));

export const note = (text: string): void => {
  process.stderr.write(`${visible(text)}\n`);
};

export const warn = (warning: string): void => note(`warning: ${visibleLine(warning)}`);

/** Where stdout is a terminal that shows them: NO_COLOR and FORCE_COLOR decide first. */
const hasColours = (): boolean =>
  colours.isColorSupported && (process.stdout.isTTY || 'FORCE_COLOR' in process.env);

export const stdoutColours = () => colours.createColors(hasColours());
