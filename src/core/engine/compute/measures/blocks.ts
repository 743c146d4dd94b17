import { itemAt } from '../../../base/errors/lookup.js';
import type { Emitted, Program } from '../../../methods/operations/program/program.js';
import type { NativeProgram, NonFiniteElement } from '../../../native/job.js';
import { type Measure, sizeOf } from '../../../native/measure.js';
import type { InputFiles } from '../../input-files.js';
import { failureOf } from '../../threads/errors.js';
import type { WorkerPool } from '../../threads/pool.js';
import { nativeProgram } from './native-program.js';

/**
 * Number of elements in a block. It affects results, because sums are taken within blocks, then over blocks.
 */
const blockElements = 4 * 1024 * 1024;

export interface ElementRange extends Pick<NativeProgram, 'scattered'> {
  readonly index: number;
  readonly first: number;
  readonly count: number;
}

/**
 * @param most maximum number of elements in a block, unless one row has more
 * @param rowsTogether blocks are multiples of this number of rows
 */
export const blocksOf = (
  { elements, columns }: Pick<Program, 'elements' | 'columns'>,
  most = blockElements,
  rowsTogether = 1,
): ElementRange[] => {
  const together = rowsTogether * columns;
  const size = Math.max(1, Math.floor(most / together)) * together;
  return Array.from({ length: Math.ceil(elements / size) }, (_, index) => ({
    index,
    first: index * size,
    count: Math.min(size, elements - index * size),
  }));
};

export const inParts = (blocks: readonly ElementRange[], most: number): ElementRange[][] => {
  const parts: ElementRange[][] = [];
  let elements = Number.POSITIVE_INFINITY;
  for (const block of blocks) {
    if (elements + block.count > most) {
      parts.push([]);
      elements = 0;
    }
    parts.at(-1)?.push(block);
    elements += block.count;
  }
  return parts;
};

/** Measures with a result per row. For other measures, the blocks' results are summed. */
const ofRows: ReadonlySet<Measure['kind']> = new Set(['rowGram', 'rowMagnitudes', 'divergence']);

/** Sums block results in block order, however workers finish, so that totals are the same in every run. */
export class BlockSums {
  readonly found: readonly Float64Array[];
  readonly #measures: readonly Measure[];
  readonly #elements: number;
  readonly #columns: number;
  readonly #waiting = new Map<number, { block: ElementRange; found: readonly Float64Array[] }>();
  #next = 0;
  #folded = 0;

  constructor({ elements, columns }: Pick<Program, 'elements' | 'columns'>, measures: readonly Measure[]) {
    this.#elements = elements;
    this.#columns = columns;
    this.#measures = measures;
    this.found = measures.map((measure) => new Float64Array(sizeOf(measure, { count: elements, columns })));
  }

  get isWhole(): boolean {
    return this.#folded === this.#elements;
  }

  add(block: ElementRange, found: readonly Float64Array[]): void {
    this.#waiting.set(block.index, { block, found });
    for (
      let ready = this.#waiting.get(this.#next);
      ready !== undefined;
      ready = this.#waiting.get(this.#next)
    ) {
      this.#waiting.delete(this.#next);
      this.#next += 1;
      this.#folded += ready.block.count;
      this.#fold(ready.block, ready.found);
    }
  }

  #fold({ first, count }: ElementRange, found: readonly Float64Array[]): void {
    for (const [index, { kind }] of this.#measures.entries()) {
      const [whole, part] = [itemAt(this.found, index), itemAt(found, index)];
      const rows = count / this.#columns;
      if (ofRows.has(kind)) whole.set(part, (first / this.#columns) * (part.length / rows));
      else addTo(whole, part);
    }
  }
}

const addTo = (whole: Float64Array, part: Float64Array): void => {
  if (part.length !== whole.length)
    throw new RangeError(`${part.length} sums of a block for ${whole.length}`);
  // Loops over indexes: `entries()` would allocate a pair per number.
  for (let at = 0; at < part.length; at += 1) whole[at] = (whole[at] ?? 0) + (part[at] ?? 0);
};

export interface TensorMeasures {
  readonly tensor: string;
  readonly emitted: Emitted;
  readonly measures: readonly Measure[];
}

export interface Measured {
  readonly found: readonly Float64Array[];
  readonly nonFinite: readonly NonFiniteElement[];
}

/** @throws INPUT_SHRANK, READ_FAILED; and the reason why the pool was stopped */
export const measureBlock = async (
  pool: WorkerPool,
  inputs: InputFiles,
  { tensor, emitted, measures }: TensorMeasures,
  block: ElementRange,
): Promise<Measured> => {
  const program = nativeProgram(emitted, inputs.fdOf, block);
  const result = await pool.measure({ program, measures });
  if (result.ok) return result;
  throw failureOf(result.status, { tensor }, emitted.sources.map(inputs.pathOf));
};
