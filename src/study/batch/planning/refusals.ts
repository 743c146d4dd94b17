import { LayerloomError } from '../../../core/base/errors/errors.js';
import { itemAt } from '../../../core/base/errors/lookup.js';
import type { BatchMerge, ParsedMerge, RefusedMerge } from './batch-merge.js';

/** Errors that end the run, not just one merge. */
const endsRun: readonly string[] = ['INTERRUPTED', 'INPUT_CHANGED'];

export const isRefusal = (error: unknown): error is LayerloomError =>
  error instanceof LayerloomError && !endsRun.includes(error.code);

/** Collects refused merges. A refusal fails only its merge, unless all are refused. */
export class Refusals<M extends BatchMerge> {
  readonly #all: readonly ParsedMerge<M>[];
  readonly #errors = new Map<ParsedMerge<M>, LayerloomError>();

  constructor(all: readonly ParsedMerge<M>[]) {
    this.#all = all;
  }

  has(of: ParsedMerge<M>): boolean {
    return this.#errors.has(of);
  }

  /**
   * Runs work on a merge; an error refuses the merge.
   *
   * @throws the error if it ends the run or no merge is left
   */
  async during(of: ParsedMerge<M>, work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!isRefusal(error)) throw error;
      this.#errors.set(of, error);
      if (this.#errors.size < this.#all.length) return;
      const { merge, error: reason } = itemAt(this.list(), 0);
      throw named(merge, reason);
    }
  }

  accepted(): ParsedMerge<M>[] {
    return this.#all.filter((of) => !this.has(of));
  }

  list(): RefusedMerge<M>[] {
    return this.#all.flatMap((of) => {
      const error = this.#errors.get(of);
      return error === undefined ? [] : [{ merge: of.merge, error }];
    });
  }
}

export const named = ({ name }: BatchMerge, error: unknown): unknown =>
  error instanceof LayerloomError ? error.with({ merge: name }) : error;
