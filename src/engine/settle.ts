import { movesBytes, type PlannedTensor } from '../plan/plan.js';
import type { ArithmeticDtype } from '../tensor/dtype.js';
import type { Inputs } from './inputs.js';
import { lower } from './lower.js';
import { Measurer } from './measure.js';
import type { WorkerPool } from './pool.js';
import { type Emitted, Program } from './program.js';

/** How many tensors' programs are kept: enough for those that lanes are at, since tables of rows take memory. */
const mostKept = 64;

/**
 * Brings a tensor's expression to the program that workers run, when the engine comes to it: first its statistics are measured, over
 * the whole tensor, then its slices are computed while its inputs are still in the page cache.
 */
export class Settler {
  readonly #pool: WorkerPool;
  readonly #inputs: Inputs;
  readonly #programs = new Map<PlannedTensor, Promise<Emitted>>();

  constructor(pool: WorkerPool, inputs: Inputs) {
    this.#pool = pool;
    this.#inputs = inputs;
  }

  /** Undefined for what only moves bytes. */
  programOf(tensor: PlannedTensor): Promise<Emitted> | undefined {
    if (movesBytes(tensor.expression)) return undefined;
    const program = this.#programs.get(tensor) ?? this.#settle(tensor);
    // The one used last is forgotten last.
    this.#programs.delete(tensor);
    this.#programs.set(tensor, program);
    const [oldest] = this.#programs.keys();
    if (this.#programs.size > mostKept && oldest !== undefined) this.#programs.delete(oldest);
    return program;
  }

  async #settle({ name, dtype, shape, expression }: PlannedTensor): Promise<Emitted> {
    const program = new Program(shape);
    const measurer = new Measurer(this.#pool, this.#inputs, name);
    const value = await lower(expression, dtype as ArithmeticDtype, { tensor: name, program, measurer });
    return program.emit([value]);
  }
}
