import { ContentTable } from '../content-table.js';
import type { ModelContents } from '../model-contents.js';

export interface Load {
  readonly bytes: number;
  readonly ofBytes: number;
  /** True if all tensors of the previous model are replaced. */
  readonly isWhole: boolean;
}

/**
 * Orders models so that little has to be loaded. Each lane (program) takes the model that differs least from
 * its present one. Among equals it takes the model that shares least with all other models, because that model would
 * cost most at the end.
 *
 * On the paper's grids, the total is within 8 % of a lower bound (minimum spanning tree). Lanes share one
 * queue; each further lane costs about one whole model.
 */
export class LoadingOrder {
  readonly #contents = new Map<string, ModelContents>();
  readonly #held = new Map<number, string>();
  #table: ContentTable | undefined;

  /** Adds a model. Models that were not added come last. */
  add(model: string, contents: ModelContents): void {
    this.#contents.set(model, contents);
    this.#table = undefined;
  }

  heldBy(lane: number): string | undefined {
    return this.#held.get(lane);
  }

  hold(lane: number, model: string | undefined): void {
    if (model === undefined) this.#held.delete(lane);
    else this.#held.set(lane, model);
  }

  loadOf(lane: number, model: string): Load | undefined {
    const table = this.#tableOf();
    const row = table.rowOf(model);
    if (row === undefined) return undefined;
    const held = this.#rowHeldBy(lane);
    const bytes = held === undefined ? undefined : table.differenceOf(held, row);
    const ofBytes = table.bytesOf(row);
    return { bytes: bytes ?? ofBytes, ofBytes, isWhole: bytes === undefined };
  }

  /** Returns the first of the models that differ least from the lane's present model. */
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
