import { keep } from '../../../base/lookup.js';
import { TokenizerReader } from '../../../models/tokenizer/read-tokenizer.js';

/** A kind of results that a session keeps, and how many of it. */
export interface Kept<T> {
  readonly most: number;
  /** Of the type alone. */
  readonly result?: T;
}

/**
 * What one planning remembers: results by what they are made of, and one number for each object. A batch plans many merges
 * of the same models; whatever is the same of two is made once. It lives as long as the inputs that it is of.
 */
export class PlanningSession {
  readonly tokenizers = new TokenizerReader();
  readonly #ids = new WeakMap<object, number>();
  #counted = 0;
  readonly #results = new Map<Kept<unknown>, Map<string, unknown>>();

  /** Returns the number of an object, by which texts of keys tell it from others. */
  idOf(value: object): number {
    const id = this.#ids.get(value) ?? this.#counted++;
    this.#ids.set(value, id);
    return id;
  }

  /**
   * Returns the result of a kind under a key, made if there is none. An LRU cache.
   *
   * @param key plain data and maps; objects that stand for themselves by their `idOf`
   */
  remember<T>(kind: Kept<T>, key: unknown, make: () => T): T {
    const results = (this.#results.get(kind) ?? new Map<string, unknown>()) as Map<string, T>;
    this.#results.set(kind, results);
    const text = JSON.stringify(key, (_, value: unknown) =>
      value instanceof Map ? [...(value as Map<unknown, unknown>)] : value,
    );
    const known = results.get(text);
    const result = known === undefined && !results.has(text) ? make() : (known as T);
    results.delete(text);
    return keep(results, text, result, kind.most);
  }
}
