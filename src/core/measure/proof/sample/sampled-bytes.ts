import { groupBy, itemAt } from '../../../base/errors/lookup.js';
import type { ElementSlice } from '../../../engine/compute/measures/read-values.js';
import type { Operand, PlannedInput } from '../../../plan/plan.js';
import type { PlannedComparison } from '../../../plan/reports/comparison.js';
import { type Extent, joinExtents, subtractExtents } from '../../../tensor/extent.js';
import type { Shape } from '../../../tensor/reference.js';
import type { StoredTensor } from '../../../tensor/stored-tensor.js';
import { readingOf } from './reads.js';

/** Thrown if a kind of fault needs bytes outside the sample. `explain` then skips it. */
export class OutsideSampleError extends Error {}

/**
 * Tiles and bytes that a sample may read. Other bytes may be missing, and a sparse file would give zeros.
 */
export class SampledBytes {
  readonly #tiles: ReadonlyMap<string, readonly ElementSlice[]>;
  readonly #inputs: readonly PlannedInput[];
  readonly #present: ReadonlyMap<string, Extent[]>;

  constructor(
    tensors: readonly PlannedComparison[],
    inputs: readonly PlannedInput[],
    more: readonly StoredTensor[],
  ) {
    this.#inputs = inputs;
    this.#tiles = new Map(tensors.map(({ name, tiles = [] }) => [name, tiles]));
    const reads = [...tensors.flatMap((tensor) => tensor.reads ?? []), ...more];
    const ranges = groupBy(reads, (read) => this.#pathOf(read));
    this.#present = new Map([...ranges].map(([path, found]) => [path, joinExtents(found)]));
  }

  tilesOf(name: string): readonly ElementSlice[] {
    return this.#tiles.get(name) ?? [];
  }

  /** @throws OutsideSampleError */
  async check(operand: Operand, shape: Shape, tiles: readonly ElementSlice[]): Promise<void> {
    const reading = await readingOf([operand], shape);
    for (const read of reading.of(tiles)) {
      const present = this.#present.get(this.#pathOf(read)) ?? [];
      if (subtractExtents([read], present).length > 0) throw new OutsideSampleError();
    }
  }

  #pathOf({ input, file }: StoredTensor): string {
    return itemAt(itemAt(this.#inputs, input).files, file).path;
  }
}
