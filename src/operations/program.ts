import { itemAt } from '../lookup.js';
import type { Election, MagnitudeBound, NodeOperation, ProgramNode } from '../native/job.js';
import type { ArithmeticDtype } from '../tensor/dtype.js';
import type { Rows } from '../tensor/rows.js';
import { type StoredTensor, sourceId } from '../tensor/stored-tensor.js';

/** A value of a program that is being written: a source or a node. */
export type Value = { readonly source: number } | { readonly node: number };

/** A node that is being written. */
interface Node {
  readonly operation: NodeOperation;
  readonly inputs: readonly Value[];
  readonly dtype: ArithmeticDtype;
}

/** A program as workers get it: what some values need and nothing else. */
export interface Emitted {
  readonly sources: readonly StoredTensor[];
  readonly nodes: readonly ProgramNode[];
  /** The values asked for, as they are numbered there. */
  readonly values: readonly number[];
  /** Elements of a row. */
  readonly columns: number;
}

/**
 * A program that computes one or several tensors of one shape, built value by value. Each method appends a node and returns its value; a
 * node's result is rounded to `dtype`, float32 unless said otherwise. Statistics on the way are measured of the values so far.
 */
export class Program {
  /** Of the tensor: its extents, all elements, and those of a row along the last dimension. */
  readonly shape: readonly number[];
  readonly elements: number;
  readonly columns: number;
  readonly #sources: StoredTensor[] = [];
  readonly #nodes: Node[] = [];

  constructor(shape: readonly number[]) {
    this.shape = shape;
    this.elements = shape.reduce((product, extent) => product * extent, 1);
    this.columns = Math.max(1, shape.at(-1) ?? 1);
  }

  /** A stored tensor as it stands. The same byte range in the same dtype is one source. */
  source(source: StoredTensor): Value {
    const id = sourceId(source);
    const known = this.#sources.findIndex((other) => sourceId(other) === id && other.dtype === source.dtype);
    return { source: known === -1 ? this.#sources.push(source) - 1 : known };
  }

  /** Σ weightᵢ · valueᵢ, by the numeric contract. */
  linear(values: readonly Value[], weights: readonly number[], dtype: ArithmeticDtype = 'F32'): Value {
    return this.#add({ kind: 'linear', weights }, values, dtype);
  }

  /** The same with weights of its own for each row: `weights[row · values.length + value]`. */
  rowLinear({
    values,
    rows,
    weights,
    dtype,
  }: {
    values: readonly Value[];
    rows: Rows;
    weights: ArrayLike<number>;
    dtype: ArithmeticDtype;
  }): Value {
    return this.#add({ kind: 'rowLinear', rows, weights: sharedNumbers(weights) }, values, dtype);
  }

  /** `value` · `scale` where `by` is above `lower` and not above `upper` in the order of magnitudes, else 0. */
  keep({
    value,
    by,
    lower,
    upper,
    scale,
  }: {
    value: Value;
    by: Value;
    lower: MagnitudeBound;
    upper: MagnitudeBound;
    scale: number;
  }): Value {
    return this.#add({ kind: 'keep', lower, upper, scale }, [value, by]);
  }

  /** `value` · `scale` with a probability, else 0. */
  drop({
    value,
    key,
    probability,
    scale,
  }: {
    value: Value;
    /** Of the counter-based random generator: 64 bits. */
    key: bigint;
    probability: number;
    scale: number;
  }): Value {
    return this.#add({ kind: 'drop', key, probability, scale }, [value]);
  }

  /** The same; the probability rises from `lowest` to `highest` with the rank of the magnitude in its row. */
  dropRanked({
    value,
    key,
    lowest,
    highest,
    scale,
  }: {
    value: Value;
    /** Of the counter-based random generator: 64 bits. */
    key: bigint;
    lowest: number;
    highest: number;
    scale: number;
  }): Value {
    return this.#add({ kind: 'dropRanked', key, lowest, highest, scale }, [value]);
  }

  /**
   * base + scale · (Σ weightᵢ · changeᵢ of those that count) / divisor. The divisor is 1, the sum of the weights that count, or how many
   * count; one whose magnitude is at most `least` is taken as 1.
   */
  vote({
    base,
    changes,
    weights,
    election,
    divisor,
    least,
    scale,
    dtype,
  }: {
    base: Value;
    changes: readonly Value[];
    weights: readonly number[];
    election: Election | null;
    divisor: 'none' | 'weights' | 'count';
    least: number;
    scale: number;
    dtype: ArithmeticDtype;
  }): Value {
    const operation = { kind: 'vote', weights, election, divisor, least, scale } as const;
    return this.#add(operation, [base, ...changes], dtype);
  }

  /** The variance of each element over the values. */
  variance(values: readonly Value[]): Value {
    return this.#add({ kind: 'variance' }, values);
  }

  /** base + (value − base) · clamp(t / |value − base|, 0, 1). */
  nearSwap({
    base,
    value,
    t,
    dtype,
  }: {
    base: Value;
    value: Value;
    t: number;
    dtype: ArithmeticDtype;
  }): Value {
    return this.#add({ kind: 'nearSwap', t }, [base, value], dtype);
  }

  /** |value − base| · the row's divergence. */
  importance({
    value,
    base,
    divergences,
  }: {
    value: Value;
    base: Value;
    divergences: ArrayLike<number>;
  }): Value {
    return this.#add({ kind: 'importance', divergences: sharedNumbers(divergences) }, [value, base]);
  }

  /** Rows of `value` where `kept` is 1, those of `base` elsewhere, bit by bit: both are of `dtype`. */
  select({
    value,
    base,
    rows,
    kept,
    dtype,
  }: {
    value: Value;
    base: Value;
    rows: Rows;
    kept: Uint8Array;
    dtype: ArithmeticDtype;
  }): Value {
    return this.#add({ kind: 'select', rows, kept: sharedBytes(kept) }, [value, base], dtype);
  }

  #add(operation: NodeOperation, inputs: readonly Value[], dtype: ArithmeticDtype = 'F32'): Value {
    return { node: this.#nodes.push({ operation, inputs, dtype }) - 1 };
  }

  emit(wanted: readonly Value[]): Emitted {
    const [sources, nodes] = [new Set<number>(), new Set<number>()];
    const visit = (value: Value): void => {
      if ('source' in value) sources.add(value.source);
      else if (!nodes.has(value.node)) {
        this.#nodes[value.node]?.inputs.forEach(visit);
        nodes.add(value.node);
      }
    };
    wanted.forEach(visit);
    const sourceIds = new Map([...sources].sort((a, b) => a - b).map((source, id) => [source, id]));
    const nodeIds = new Map(
      [...nodes].sort((a, b) => a - b).map((node, index) => [node, sourceIds.size + index]),
    );
    const idOf = (value: Value): number =>
      ('source' in value ? sourceIds.get(value.source) : nodeIds.get(value.node)) ?? -1;
    return {
      sources: [...sourceIds.keys()].map((source) => this.#sources[source] as StoredTensor),
      nodes: [...nodeIds.keys()].map((index): ProgramNode => {
        const { operation, inputs, dtype } = itemAt(this.#nodes, index);
        return { ...operation, inputs: inputs.map(idOf), dtype };
      }),
      values: wanted.map(idOf),
      columns: this.columns,
    };
  }
}

/** Numbers in memory that threads share, so that every slice's job need not carry a copy. */
const sharedNumbers = (numbers: ArrayLike<number>): Float64Array => {
  const shared = new Float64Array(new SharedArrayBuffer(numbers.length * Float64Array.BYTES_PER_ELEMENT));
  shared.set(numbers);
  return shared;
};

const sharedBytes = (bytes: Uint8Array): Uint8Array => {
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.length));
  shared.set(bytes);
  return shared;
};
