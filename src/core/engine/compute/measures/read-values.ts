import type { FileHandle } from 'node:fs/promises';
import { type Emitted, Program } from '../../../methods/operations/program/program.js';
import { readBlock } from '../../../models/checkpoint/files/read-block.js';
import { isStored, lowerOperand } from '../../../plan/operands.js';
import type { Operand } from '../../../plan/plan.js';
import { elementsOf, type Shape } from '../../../tensor/reference.js';
import type { InputFiles } from '../../input-files.js';
import { failureOf } from '../../threads/errors.js';
import type { WorkerPool } from '../../threads/pool.js';
import { openScratch } from '../scratch.js';
import { BlockMeasurer } from './measure.js';
import { nativeProgram } from './native-program.js';

/** Elements [first, first + count). Must be whole rows, unless the tensor is stored. */
export interface ElementSlice {
  readonly first: number;
  readonly count: number;
}

/** Maximum number of cached programs, which may hold tables of rows. */
const mostKept = 64;

/** Reads values as float32, also NaN. Native jobs compute them into unlinked files, as for a merge. */
export class ValueReader {
  readonly #pool: WorkerPool;
  readonly #inputs: InputFiles;
  readonly #free: FileHandle[] = [];
  readonly #programs = new Map<Operand, Promise<Emitted>>();

  constructor(pool: WorkerPool, inputs: InputFiles) {
    this.#pool = pool;
    this.#inputs = inputs;
  }

  /** @throws INPUT_SHRANK, READ_FAILED, MERGE_UNDEFINED; WRITE_FAILED for the unlinked file */
  async read(operand: Operand, shape: Shape, { first, count }: ElementSlice): Promise<Float32Array> {
    if (count === 0) return new Float32Array();
    const emitted = await this.#programOf(operand, shape);
    const scratch = this.#free.pop() ?? (await openScratch());
    const program = nativeProgram(emitted, this.#inputs.fdOf, { first, count, scattered: true });
    const outputs = emitted.values.map((value) => ({
      value,
      dtype: 'F32' as const,
      fd: scratch.fd,
      begin: 0,
    }));
    try {
      const result = await this.#pool.run([{ kind: 'compute', program, outputs }]);
      if (!result.ok)
        throw failureOf(result.status, { tensor: 'a tensor' }, emitted.sources.map(this.#inputs.pathOf));
      const values = new Float32Array(count);
      // A job writes its slice at its offset in the whole tensor.
      await readBlock(scratch, Buffer.from(values.buffer), first * values.BYTES_PER_ELEMENT);
      await scratch.truncate(0);
      return values;
    } finally {
      this.#free.push(scratch);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const file of this.#free) await file.close();
  }

  #programOf(operand: Operand, shape: Shape): Promise<Emitted> {
    const known = this.#programs.get(operand) ?? this.#lower(operand, shape);
    this.#programs.delete(operand);
    this.#programs.set(operand, known);
    const [oldest] = this.#programs.keys();
    if (this.#programs.size > mostKept && oldest !== undefined) this.#programs.delete(oldest);
    return known;
  }

  async #lower(operand: Operand, shape: Shape): Promise<Emitted> {
    const program = new Program(isStored(operand) ? [elementsOf(shape), 1] : shape, this.#inputs.idOf);
    const measurer = new BlockMeasurer(this.#pool, this.#inputs, 'a tensor', () => undefined);
    const value = await lowerOperand(operand, { tensor: 'a tensor', program, measurer });
    // A one-term sum of weight 1 converts to float32 exactly.
    return program.emit([program.linear([value], [1])]);
  }
}
