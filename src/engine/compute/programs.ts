import { itemAt } from '../../base/lookup.js';
import { type Emitted, Program, type Value } from '../../operations/program.js';
import { factorsIn, lowerTensor } from '../../plan/operands.js';
import { distinctSources } from '../../tensor/stored-tensor.js';
import type { InputFiles } from '../input-files.js';
import type { WorkerPool } from '../threads/pool.js';
import { BlockMeasurer, type OnNonFinite } from './measure.js';
import type { NonFiniteShards } from './non-finite.js';
import { isFactorised, isMoved, type Slab } from './tasks.js';

/** Capacity of the cache: enough for the slabs in progress. Not more, since tables of rows take memory. */
const mostKept = 64;

/**
 * An LRU cache of slabs' programs. A program is lowered when the engine comes to its slab: statistics are
 * measured over the whole tensors, and slices are then computed while the inputs are still in the page cache.
 */
export class Programs<S> {
  readonly #pool: WorkerPool;
  readonly #inputs: InputFiles;
  readonly #allowsNonFinite: (shard: S) => boolean;
  readonly #nonFinite: NonFiniteShards<S>;
  readonly #kept = new Map<Slab<S>, Promise<Emitted>>();

  /**
   * @param allowsNonFinite true for a shard that may have values that are no finite numbers: those that statistics
   *   find are noted in `nonFinite`
   */
  constructor(
    pool: WorkerPool,
    inputs: InputFiles,
    allowsNonFinite: (shard: S) => boolean,
    nonFinite: NonFiniteShards<S>,
  ) {
    this.#pool = pool;
    this.#inputs = inputs;
    this.#allowsNonFinite = allowsNonFinite;
    this.#nonFinite = nonFinite;
  }

  /**
   * Returns the program of a slab, with its values in the order of the outputs; undefined for a slab that is
   * moved or factorised.
   */
  of(slab: Slab<S>): Promise<Emitted> | undefined {
    if (isMoved(slab) || isFactorised(slab)) return undefined;
    const program = this.#kept.get(slab) ?? this.#lower(slab);
    this.#kept.delete(slab);
    this.#kept.set(slab, program);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > mostKept && oldest !== undefined) this.#kept.delete(oldest);
    return program;
  }

  async #lower({ outputs }: Slab<S>): Promise<Emitted> {
    const program = new Program(itemAt(outputs, 0).tensor.shape, this.#inputs.idOf);
    const values: Value[] = [];
    for (const { shard, tensor } of outputs) {
      const note: OnNonFinite | undefined = this.#allowsNonFinite(shard)
        ? (value, element) => this.#nonFinite.note(shard, tensor, element, value)
        : undefined;
      const measurer = new BlockMeasurer(this.#pool, this.#inputs, tensor.name, note);
      for (const factor of distinctSources(factorsIn(tensor.expression))) await measurer.checkFactor(factor);
      values.push(await lowerTensor(tensor, { tensor: tensor.name, program, measurer }));
    }
    return program.emit(values, 'results');
  }
}
