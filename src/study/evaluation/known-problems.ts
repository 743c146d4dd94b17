import { isUtf8 } from 'node:buffer';
import { itemAt } from '../../core/base/errors/lookup.js';
import { jsonOrNone, ownFile } from '../../core/texts/json.js';
import type { ProblemResult } from './result.js';

/**
 * Reads results of known problems without responses. Thousands of results have the same problems, so only
 * scores and answers are parsed, and equal ones are shared.
 */
export class KnownProblems {
  readonly #problems: readonly ProblemResult[];
  /** `{"id":…,"response":"` of each problem, as `JSON.stringify` writes it, one byte a character. */
  readonly #heads: readonly string[];
  readonly #made: readonly Map<string, ProblemResult>[];

  constructor(problems: readonly ProblemResult[]) {
    this.#problems = problems;
    this.#heads = problems.map(({ id, document, prompt, target }) =>
      asBytes(JSON.stringify({ id, document, prompt, target, response: '' }).slice(0, -'"}'.length)),
    );
    this.#made = problems.map(() => new Map());
  }

  /**
   * Reads a result's problems without their responses, which are neither read nor checked.
   *
   * @param check as of a whole file
   * @returns undefined if the text has other problems or another form, which does not mean that it is invalid
   */
  read(bytes: Buffer, check: (problems: unknown) => boolean): readonly ProblemResult[] | undefined {
    if (this.#heads.length === 0 || !isUtf8(bytes)) return undefined;
    const text = bytes.toString('latin1');
    const problems: ProblemResult[] = [];
    let from = 1;
    for (const [at, head] of this.#heads.entries()) {
      if (!text.startsWith(head, from)) return undefined;
      const end = endOfString(text, from + head.length);
      // Quotes in strings are escaped, so this is in no string.
      const next = text.indexOf('}},{"id":', end);
      const until = at + 1 < this.#heads.length ? next + '}}'.length : text.length - ']\n'.length;
      if (end < 0 || until < end) return undefined;
      const problem = this.#problemOf(at, text.slice(end + 1, until), check);
      if (problem === undefined) return undefined;
      problems.push(problem);
      from = until + 1;
    }
    return text.startsWith('[') && text.endsWith(']\n') ? problems : undefined;
  }

  /** @param rest `,"scores":{…},"answers":{…}}` */
  #problemOf(at: number, rest: string, check: (problems: unknown) => boolean): ProblemResult | undefined {
    const made = this.#made[at];
    const before = made?.get(rest);
    if (before !== undefined) return before;
    const { id, document, prompt, target } = itemAt(this.#problems, at);
    const head = JSON.stringify({ id, document, prompt, target, response: '' }).slice(0, -'}'.length);
    const problem = jsonOrNone(`${head}${Buffer.from(rest, 'latin1')}`, ownFile);
    if (!check([problem])) return undefined;
    made?.set(rest, problem as ProblemResult);
    return problem as ProblemResult;
  }
}

const asBytes = (text: string): string => Buffer.from(text).toString('latin1');

/** Returns where a string's closing quote is, from inside of the string; -1 without one. */
const endOfString = (text: string, from: number): number => {
  for (let quote = text.indexOf('"', from); quote >= 0; quote = text.indexOf('"', quote + 1)) {
    let slashes = 0;
    while (text[quote - 1 - slashes] === '\\') slashes += 1;
    if (slashes % 2 === 0) return quote;
  }
  return -1;
};
