import * as z from 'zod';
import { layerloomCommand } from '../../../base/errors/command-line.js';
import { LayerloomError } from '../../../base/errors/errors.js';
import type { RecipePath } from '../declaration/method.js';
import { matches } from '../match-names.js';
import { type PartName, partNames } from '../part-names.js';

/** Tensors by part: names, or patterns of whole names with `*`. */
export interface TensorParts {
  language?: readonly string[] | undefined;
  task?: readonly string[] | undefined;
  both?: readonly string[] | undefined;
  neither?: readonly string[] | undefined;
}

const names = z
  .array(z.string().min(1), { error: "a list of tensors' names or patterns of them" })
  .readonly()
  .optional();

const parts = z.strictObject({ language: names, task: names, both: names, neither: names });

/** A partition. The path of a `partition.json` is replaced before recipes are checked. */
export const partitionSchema = z.union([z.string(), parts], {
  error: `the file that \`${layerloomCommand('partition')}\` wrote, or its parts: language, task, both, neither`,
});

export class PartOfTensor {
  readonly #parts: readonly { readonly part: PartName; readonly pattern: string }[];
  readonly #used = new Set<string>();

  /** @throws INVALID_PARAMETER for a path, which only the outermost recipe may give */
  constructor(given: string | TensorParts) {
    if (typeof given === 'string')
      throw refused(given, 'the parts here; a file only in the outermost recipe of a merge');
    this.#parts = partNames.flatMap((part) => (given[part] ?? []).map((pattern) => ({ part, pattern })));
  }

  /** @throws INVALID_PARAMETER for a tensor in no part or in several */
  of(tensor: string): PartName {
    const found = this.#parts.filter(({ pattern }) => matches(tensor, pattern));
    for (const { pattern } of found) this.#used.add(pattern);
    const [part, ...others] = new Set(found.map((one) => one.part));
    if (part === undefined || others.length > 0)
      throw refused(
        tensor,
        `this tensor in exactly one part; it is in ${part === undefined ? 'none' : [part, ...others].join(' and ')}: partition the base of these models`,
      );
    return part;
  }

  unused(): { what: string; path: RecipePath }[] {
    return this.#parts
      .filter(({ pattern }) => !this.#used.has(pattern))
      .map(({ part, pattern }) => ({ what: `filter ${pattern}`, path: ['partition', part] }));
  }
}

const refused = (value: string, expected: string): LayerloomError =>
  new LayerloomError(
    'INVALID_PARAMETER',
    { parameter: 'partition', value, expected },
    { context: { recipePath: ['partition'] } },
  );
