import { ContentTable } from '../content-table.js';
import type { ModelContents } from '../model-contents.js';

/** What a program loads to come from the model that it holds to another one. */
export interface Load {
  readonly bytes: number;
  /** Bytes of all its tensors. */
  readonly ofBytes: number;
  /** True if all of the model is loaded, and no tensor of the one before stays. */
  readonly isWhole: boolean;
}

/**
 * Says in which order programs that hold one model after another load few bytes: each program, a lane, takes the model that is
 * nearest to what it holds. Of models that are equally near it takes the one that shares least with all others: it would
 * be left over, far from the rest.
 *
 * On the paper's grids such orders are within 8 % of a lower bound, a minimum spanning tree. To improve them by 2-opt and
 * Or-opt gains 1 to 4 %, for which all models would have to be there beforehand. Lanes of one queue need no division of the
 * models: together they load what one does, and little more than a whole model for each further lane.
 */
export class LoadingOrder {
  readonly #contents = new Map<string, ModelContents>();
  /** By lane: the model that it holds. */
  readonly #held = new Map<number, string>();
  #table: ContentTable | undefined;

  /** Adds a model. One that is not added goes last, and nothing is known of what a program loads for it. */
  add(model: string, contents: ModelContents): void {
    this.#contents.set(model, contents);
    this.#table = undefined;
  }

  /** Returns the model that a lane holds. */
  heldBy(lane: number): string | undefined {
    return this.#held.get(lane);
  }

  hold(lane: number, model: string | undefined): void {
    if (model === undefined) this.#held.delete(lane);
    else this.#held.set(lane, model);
  }

  /** Returns what a lane loads to hold a model; undefined where it is not known. */
  loadOf(lane: number, model: string): Load | undefined {
    const table = this.#tableOf();
    const row = table.rowOf(model);
    if (row === undefined) return undefined;
    const held = this.#rowHeldBy(lane);
    const bytes = held === undefined ? undefined : table.differenceOf(held, row);
    const ofBytes = table.bytesOf(row);
    return { bytes: bytes ?? ofBytes, ofBytes, isWhole: bytes === undefined };
  }

  /** Returns the model that a lane takes next, of equal ones the first. */
  nextOf<M extends { readonly name: string }>(lane: number, models: readonly M[]): M | undefined {
    const table = this.#tableOf();
    const held = this.#rowHeldBy(lane);
    let best: M | undefined;
    let [least, leastShared] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
    for (const model of models) {
      best ??= model;
      const row = table.rowOf(model.name);
      if (row === undefined) continue;
      const difference = held === undefined ? undefined : table.differenceOf(held, row, least);
      const bytes = difference ?? table.bytesOf(row);
      const shared = table.sharedBytesOf(row);
      if (bytes > least || (bytes === least && shared >= leastShared)) continue;
      [best, least, leastShared] = [model, bytes, shared];
    }
    return best;
  }

  #rowHeldBy(lane: number): number | undefined {
    const model = this.#held.get(lane);
    return model === undefined ? undefined : this.#tableOf().rowOf(model);
  }

  #tableOf(): ContentTable {
    this.#table ??= new ContentTable(this.#contents);
    return this.#table;
  }
}
