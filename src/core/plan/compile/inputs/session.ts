import { keep } from '../../../base/errors/lookup.js';
import { TokenizerReader } from '../../../models/tokenizer/files/read-tokenizer.js';

export interface Cached<T> {
  readonly most: number;
  /** This key is never set; it only carries the type of results. */
  readonly result?: T;
}

/** A cache for one planning session, dropped with its inputs. */
export class PlanningSession {
  readonly tokenizers = new TokenizerReader();
  readonly #ids = new WeakMap<object, number>();
  #counted = 0;
  readonly #results = new Map<Cached<unknown>, Map<string, unknown>>();

  /** Returns a number for cache keys, unique within the session. */
  idOf(value: object): number {
    const id = this.#ids.get(value) ?? this.#counted++;
    this.#ids.set(value, id);
    return id;
  }

  /**
   * Returns a result from the LRU cache, or makes it.
   *
   * @param key plain data and maps; other objects by their `idOf`
   */
  remember<T>(kind: Cached<T>, key: unknown, make: () => T): T {
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
