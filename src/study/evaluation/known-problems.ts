import { isUtf8 } from 'node:buffer';
import { jsonOrNone, ownFile } from '../../core/texts/json.js';
import type { Outcome, ProblemResult } from './result.js';

/** Maximum number of cached outcomes, some 50 MB. */
const mostKept = 100_000;

/**
 * Reads results on known problems, without responses. Thousands of results share their problems, so only
 * scores and answers are parsed; equal outcomes share one object.
 */
export class KnownProblems {
  readonly problems: readonly ProblemResult[];
  /** Beginning of each problem's JSON up to `"response":"`, as `JSON.stringify` writes it, in Latin-1. */
  readonly #heads: readonly string[];
  readonly #outcomes = new Map<string, Outcome>();

  constructor(problems: readonly ProblemResult[]) {
    this.problems = problems;
    this.#heads = problems.map(({ id, document, prompt, target }) =>
      asBytes(JSON.stringify({ id, document, prompt, target, response: '' }).slice(0, -'"}'.length)),
    );
  }

  /**
   * Reads a result's outcomes. Responses are neither read nor checked.
   *
   * @param check of an outcome
   * @returns undefined if the text has other problems or another layout; then it must be parsed, because it
   *   may be valid
   */
  read(bytes: Buffer, check: (outcome: unknown) => boolean): readonly Outcome[] | undefined {
    if (this.#heads.length === 0 || !isUtf8(bytes)) return undefined;
    const text = bytes.toString('latin1');
    if (!text.startsWith('[') || !text.endsWith(']\n')) return undefined;
    const outcomes: Outcome[] = [];
    let from = 1;
    for (const [at, head] of this.#heads.entries()) {
      // Comparing a slice takes a tenth of the time of `startsWith`.
      if (text.slice(from, from + head.length) !== head) return undefined;
      const end = endOfString(text, from + head.length);
      // Inside strings quotes are escaped, so this text is never within a string.
      const next = text.indexOf('}},{"id":', end);
      const until = at + 1 < this.#heads.length ? next + '}}'.length : text.length - ']\n'.length;
      if (end < 0 || until < end) return undefined;
      const outcome = this.#outcomeOf(text.slice(end + 1, until), check);
      if (outcome === undefined) return undefined;
      outcomes.push(outcome);
      from = until + 1;
    }
    return outcomes;
  }

  #outcomeOf(rest: string, check: (outcome: unknown) => boolean): Outcome | undefined {
    const before = this.#outcomes.get(rest);
    if (before !== undefined) return before;
    if (!rest.startsWith(',')) return undefined;
    const outcome = jsonOrNone(`{${Buffer.from(rest.slice(1), 'latin1')}`, ownFile);
    // A third key may belong to the unparsed head.
    if (!check(outcome) || Object.keys(outcome as Outcome).length > 2) return undefined;
    if (this.#outcomes.size === mostKept) this.#outcomes.clear();
    // Copies the text, because a slice would keep the whole file's text alive.
    this.#outcomes.set(Buffer.from(rest, 'latin1').toString('latin1'), outcome as Outcome);
    return outcome as Outcome;
  }
}

const asBytes = (text: string): string => Buffer.from(text).toString('latin1');

/** Returns the index of the closing quote from a position inside a string; -1 if not found. */
const endOfString = (text: string, from: number): number => {
  for (let quote = text.indexOf('"', from); quote >= 0; quote = text.indexOf('"', quote + 1)) {
    let slashes = 0;
    while (text[quote - 1 - slashes] === '\\') slashes += 1;
    if (slashes % 2 === 0) return quote;
  }
  return -1;
};
