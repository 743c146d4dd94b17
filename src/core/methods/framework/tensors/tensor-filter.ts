import * as z from 'zod';
import type { RecipePath } from '../declaration/method.js';
import { matches } from '../match-names.js';

const expected = 'parts of tensors\' names, such as q_proj,k_proj or "*.mlp.*"';

/** Filters as a list, or text with commas: parts of names or, with `*`, patterns for whole names. */
export const filtersSchema = z
  .union([z.string(), z.array(z.string())], { error: expected })
  .transform((given) => (typeof given === 'string' ? given.split(',') : given).map((each) => each.trim()))
  .refine((filters) => filters.length > 0 && filters.every((each) => each !== ''), { error: expected });

export class TensorFilter {
  readonly #filters: readonly string[] | undefined;
  readonly #path: RecipePath;
  readonly #matched = new Set<string>();

  /** @param filters undefined matches all names */
  constructor(filters: readonly string[] | undefined, path: RecipePath) {
    this.#filters = filters;
    this.#path = path;
  }

  matches(name: string): boolean {
    if (this.#filters === undefined) return true;
    const found = this.#filters.filter((filter) =>
      filter.includes('*') ? matches(name, filter) : name.includes(filter),
    );
    for (const filter of found) this.#matched.add(filter);
    return found.length > 0;
  }

  unused(): { what: string; path: RecipePath }[] {
    return (this.#filters ?? [])
      .filter((filter) => !this.#matched.has(filter))
      .map((filter) => ({ what: `filter ${filter}`, path: this.#path }));
  }
}
