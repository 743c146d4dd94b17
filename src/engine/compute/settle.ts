import { movesBytes, type PlannedTensor } from '../../plan/plan.js';
import type { ArithmeticDtype } from '../../tensor/dtype.js';
import type { InputFiles } from '../input-files.js';
import type { WorkerPool } from '../threads/pool.js';
import { lower } from './lower.js';
import { Measurer } from './measure.js';
import { type Emitted, Program, type Value } from './program.js';

/** How many tensors' programs are kept: enough for those that lanes are at, since tables of rows take memory. */
const mostKept = 64;

/**
 * Brings tensors' expressions to the program that workers run, when the engine comes to them: first their statistics are measured, over
 * whole tensors, then their slices are computed while the inputs are still in the page cache.
 */
export class Settler {
  readonly #pool: WorkerPool;
  readonly #inputs: InputFiles;
  readonly #programs = new Map<PlannedTensor | readonly PlannedTensor[], Promise<Emitted>>();

  constructor(pool: WorkerPool, inputs: InputFiles) {
    this.#pool = pool;
    this.#inputs = inputs;
  }

  /** Undefined for what only moves bytes. */
  programOf(tensor: PlannedTensor): Promise<Emitted> | undefined {
    return movesBytes(tensor.expression) ? undefined : this.#kept(tensor, [tensor]);
  }

  /** Of several tensors of one shape, whose values are in their order; a copy's is its source. */
  programOfAll(tensors: readonly PlannedTensor[]): Promise<Emitted> {
    return this.#kept(tensors, tensors);
  }

  #kept(key: PlannedTensor | readonly PlannedTensor[], tensors: readonly PlannedTensor[]): Promise<Emitted> {
    const program = this.#programs.get(key) ?? this.#settle(tensors);
    // The one used last is forgotten last.
    this.#programs.delete(key);
    this.#programs.set(key, program);
    const [oldest] = this.#programs.keys();
    if (this.#programs.size > mostKept && oldest !== undefined) this.#programs.delete(oldest);
    return program;
  }

  async #settle(tensors: readonly PlannedTensor[]): Promise<Emitted> {
    const program = new Program(tensors[0]?.shape ?? []);
    const values: Value[] = [];
    for (const { name, dtype, expression } of tensors) {
      const measurer = new Measurer(this.#pool, this.#inputs, name);
      values.push(await lower(expression, dtype as ArithmeticDtype, { tensor: name, program, measurer }));
    }
    return program.emit(values);
  }
}
