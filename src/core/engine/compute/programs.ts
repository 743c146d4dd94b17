import { itemAt, valueAt } from '../../base/errors/lookup.js';
import type { KeptSums } from '../../methods/operations/program/lowering.js';
import { type Emitted, Program, type Value } from '../../methods/operations/program/program.js';
import { factorsIn, keyOf, lowerTensor } from '../../plan/operands.js';
import type { PlannedTensor } from '../../plan/plan.js';
import type { Extent } from '../../tensor/extent.js';
import { elementsOf } from '../../tensor/reference.js';
import { distinctSources } from '../../tensor/stored-tensor.js';
import type { InputFiles } from '../input-files.js';
import type { WorkerPool } from '../threads/pool.js';
import { correctBounds, type GuessedSlab, guessedSlab } from './guessed-slab.js';
import { BlockMeasurer, type OnNonFinite } from './measures/measure.js';
import type { NonFiniteShards } from './measures/non-finite.js';
import { computedOf, isMadeWhole, isMoved, isScales, type Slab, type SlabOutput } from './tasks.js';

/** Maximum number of cached programs: enough for slabs in progress, because each may hold tables of rows. */
const mostKept = 64;

export interface ProgramSink<S> {
  allowsNonFinite(shard: S): boolean;
  /** Receives how much of its change a matrix keeps when quantised. */
  kept?(codes: PlannedTensor, sums: KeptSums): void;
}

/**
 * An LRU cache of programs. Makes a program when the engine reaches its slab. It first measures statistics
 * over whole tensors, so slices are computed while inputs are in the page cache.
 */
export class Programs<S> {
  readonly #pool: WorkerPool;
  readonly #inputs: InputFiles;
  readonly #sink: ProgramSink<S>;
  readonly #nonFinite: NonFiniteShards<S>;
  readonly #kept = new Map<Slab<S>, Promise<Emitted>>();
  readonly #guessed = new WeakMap<Slab<S>, GuessedSlab<S>>();

  /** @param nonFinite receives NaN and infinity in statistics, for shards that allow them */
  constructor(pool: WorkerPool, inputs: InputFiles, sink: ProgramSink<S>, nonFinite: NonFiniteShards<S>) {
    this.#pool = pool;
    this.#inputs = inputs;
    this.#sink = sink;
    this.#nonFinite = nonFinite;
  }

  /** Returns a slab's program; undefined if the slab is copied (`isMoved`) or made by a solver. */
  of(slab: Slab<S>): Promise<Emitted> | undefined {
    if (isMoved(slab) || isMadeWhole(slab)) return undefined;
    const program = this.#kept.get(slab) ?? this.#lower(slab);
    this.#kept.delete(slab);
    this.#kept.set(slab, program);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > mostKept && oldest !== undefined) this.#kept.delete(oldest);
    return program;
  }

  /** Allows guessed bounds, for a slab whose bytes may be corrected after all its pieces are computed. */
  mayGuess(slab: Slab<S>): void {
    const guessed = guessedSlab(slab);
    if (guessed !== undefined) this.#guessed.set(slab, guessed);
  }

  /** Returns a slab's guesses; undefined once bounds are exact. */
  guessedOf(slab: Slab<S>): GuessedSlab<S> | undefined {
    const guessed = this.#guessed.get(slab);
    return guessed?.bounds === undefined || guessed.isSettled ? undefined : guessed;
  }

  /**
   * Corrects a slab once all its pieces are computed.
   *
   * @returns ranges of elements to recompute
   */
  async settle(slab: Slab<S>, guessed: GuessedSlab<S>): Promise<readonly Extent[]> {
    const ranges = await correctBounds(guessed);
    guessed.isSettled = true;
    this.#kept.delete(slab);
    if (ranges === undefined) this.#guessed.delete(slab);
    return ranges ?? [{ begin: 0, end: elementsOf(computedOf(itemAt(slab.outputs, 0).tensor).shape) }];
  }

  async #lower(slab: Slab<S>): Promise<Emitted> {
    const { outputs } = slab;
    const guessed = this.#guessed.get(slab);
    const program = new Program(computedOf(itemAt(outputs, 0).tensor).shape, this.#inputs.idOf);
    const values = new Map<SlabOutput<S>, Value>();
    const quantised = new Map<string, Value>();
    // Lowers codes before scales, because making codes measures how much of a change they keep.
    for (const output of outputs.toSorted(
      (a, b) => Number(isScales(a.tensor)) - Number(isScales(b.tensor)),
    )) {
      const { shard, tensor } = output;
      const note: OnNonFinite | undefined = this.#sink.allowsNonFinite(shard)
        ? (value, element) => this.#nonFinite.note(shard, tensor, element, value)
        : undefined;
      const measurer = new BlockMeasurer(this.#pool, this.#inputs, computedOf(tensor).name, note);
      for (const factor of distinctSources(factorsIn(tensor.expression))) await measurer.checkFactor(factor);
      const onKept =
        this.#sink.kept === undefined ? undefined : (sums: KeptSums) => this.#sink.kept?.(tensor, sums);
      if (guessed !== undefined && !guessed.isSettled) guessed.lowered = { program, measurer };
      const lowered = () => lowerTensor(tensor, { tensor: tensor.name, program, measurer, guessed, onKept });
      values.set(output, await once(quantised, this.#matrixOf(tensor), lowered));
    }
    return program.emit(
      outputs.map((output) => valueAt(values, output)),
      'results',
    );
  }

  /** Returns a matrix's key, by which one node makes its codes and scales. */
  #matrixOf({ expression }: PlannedTensor): string | undefined {
    if (expression.kind !== 'quantise') return undefined;
    return keyOf({ ...expression, part: 'codes' }, (source) => this.#inputs.idOf(source));
  }
}

const once = async <T>(
  known: Map<string, T>,
  key: string | undefined,
  make: () => Promise<T>,
): Promise<T> => {
  const value = (key === undefined ? undefined : known.get(key)) ?? (await make());
  if (key !== undefined) known.set(key, value);
  return value;
};
