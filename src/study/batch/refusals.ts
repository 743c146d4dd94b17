import { LayerloomError } from '../../core/base/errors.js';
import { itemAt } from '../../core/base/lookup.js';
import type { BatchMerge, ParsedMerge, RefusedMerge } from './batch-merge.js';

/** Errors of planning that are no refusal of one merge: the run ends. */
const endsRun: readonly string[] = ['INTERRUPTED', 'INPUT_CHANGED'];

export const isRefusal = (error: unknown): error is LayerloomError =>
  error instanceof LayerloomError && !endsRun.includes(error.code);

/** The merges of a batch that are refused. A refusal is that merge's failure alone, as long as one is accepted. */
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
   * Does work for a merge. An error of it refuses the merge.
   *
   * @throws the error, if it is no refusal or if no merge is left
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

  /** The merges that are not refused, in order. */
  accepted(): ParsedMerge<M>[] {
    return this.#all.filter((of) => !this.has(of));
  }

  /** The merges that are refused, in order. */
  list(): RefusedMerge<M>[] {
    return this.#all.flatMap((of) => {
      const error = this.#errors.get(of);
      return error === undefined ? [] : [{ merge: of.merge, error }];
    });
  }
}

/** Returns an error with the merge that it is of. */
export const named = ({ name }: BatchMerge, error: unknown): unknown =>
  error instanceof LayerloomError ? error.with({ merge: name }) : error;
