import type { PlannedShard } from '../../plan/plan.js';
import { covers, type Extents } from '../output/journal.js';
import { type Stretch, stretchesOf } from './slices.js';

/** A shard's work. */
export interface ShardWork {
  readonly shard: PlannedShard;
  /** What of it remains, from the end of the file: handed out from its beginning. */
  readonly remaining: Stretch[];
  /** Stretches handed out or not, and not yet done. */
  outstanding: number;
}

/**
 * Which stretch is next. Writes to one file exclude each other in the kernel, so each lane keeps to a shard of its own while there
 * are enough: largest first, so that none is left to the end. Then lanes help where most remains, so that one shard does not
 * make the tail.
 */
export class Schedule {
  readonly works: readonly ShardWork[];
  /** Of all shards, and of what is left to do. */
  readonly total: number;
  readonly bytes: number;
  /** The largest last. */
  readonly #waiting: ShardWork[];
  readonly #begun: ShardWork[] = [];

  constructor(shards: readonly PlannedShard[], done: Extents, sliceBytes?: number) {
    let total = 0;
    this.works = shards.map((shard) => {
      const extents = done.get(shard.file) ?? [];
      const stretches = [...stretchesOf(shard, sliceBytes)];
      total += bytesOf(stretches);
      const remaining = stretches.filter((stretch) => !covers(extents, stretch)).reverse();
      return { shard, remaining, outstanding: remaining.length };
    });
    this.total = total;
    this.bytes = this.works.reduce((bytes, { remaining }) => bytes + bytesOf(remaining), 0);
    this.#waiting = this.works
      .filter(({ outstanding }) => outstanding > 0)
      .reverse()
      .sort((a, b) => bytesOf(a.remaining) - bytesOf(b.remaining));
  }

  /** The next stretch for a lane that last worked on `current`; undefined when all are handed out. */
  next(current: ShardWork | undefined): { work: ShardWork; stretch: Stretch } | undefined {
    const work =
      current !== undefined && current.remaining.length > 0
        ? current
        : (this.#begin() ?? this.#largestBegun());
    const stretch = work?.remaining.pop();
    return work === undefined || stretch === undefined ? undefined : { work, stretch };
  }

  #begin(): ShardWork | undefined {
    const work = this.#waiting.pop();
    if (work !== undefined) this.#begun.push(work);
    return work;
  }

  #largestBegun(): ShardWork | undefined {
    return this.#begun.toSorted((a, b) => b.remaining.length - a.remaining.length)[0];
  }
}

const bytesOf = (stretches: readonly Stretch[]): number =>
  stretches.reduce((total, { begin, end }) => total + end - begin, 0);
