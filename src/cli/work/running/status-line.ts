import { visibleLine } from '../../../core/base/errors/visible.js';

const lineMs = 60_000;

/**
 * On a terminal, overwrites the line. Elsewhere, prints a line when the subject changes, and once a minute.
 */
export class StatusLine {
  readonly #stream: NodeJS.WriteStream;
  readonly #now: () => number;
  #shown: { readonly text: string; readonly subject: string; readonly at: number } | undefined;

  constructor(stream: NodeJS.WriteStream, now: () => number = () => performance.now()) {
    this.#stream = stream;
    this.#now = now;
  }

  show(text: string, subject: string): void {
    const at = this.#now();
    if (text === this.#shown?.text) return;
    if (this.#stream.isTTY) this.#stream.write(`\r\x1b[K${fitting(text, this.#stream.columns || 80)}`);
    else if (this.#shown?.subject !== subject || at - this.#shown.at >= lineMs)
      this.#stream.write(`${visibleLine(text)}\n`);
    else return;
    this.#shown = { text, subject, at };
  }

  /** On a terminal, the last state stays. */
  end(): void {
    if (this.#shown !== undefined && this.#stream.isTTY) this.#stream.write('\n');
    this.#shown = undefined;
  }
}

/** Leaves the terminal's last column free. */
const fitting = (text: string, columns: number): string => {
  const characters = [...visibleLine(text)];
  return characters.length < columns ? characters.join('') : `${characters.slice(0, columns - 2).join('')}…`;
};
