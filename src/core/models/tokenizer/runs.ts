import type { RowRun } from './vocabulary.js';

/** Joins pairs of rows, ascending by `to`, into runs that are as long as possible. */
export class Runs {
  readonly #runs: [to: number, from: number, count: number][] = [];

  push(to: number, from: number): void {
    const last = this.#runs.at(-1);
    if (last !== undefined && to === last[0] + last[2] && from === last[1] + last[2]) last[2]++;
    else this.#runs.push([to, from, 1]);
  }

  get runs(): readonly RowRun[] {
    return this.#runs;
  }
}
