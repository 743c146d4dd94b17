import { dtypeIndex, type NativeProgram, nodeKinds, type ProgramNode, rowSenses } from '../native/addon.js';
import type { ArithmeticDtype } from '../tensor/dtype.js';
import type { Rows } from '../tensor/rows.js';
import { type StoredTensor, sourceId } from '../tensor/stored-tensor.js';

/** A value of a program that is being written: a source or a node. */
export type Value = { readonly source: number } | { readonly node: number };

/**
 * A position in the order of a tensor's elements by magnitude, largest first. Elements of exactly its magnitude are above it where their
 * index is before `cutoff` (`early`), or from it on (not `early`).
 */
export interface MagnitudeBound {
  /** Of the magnitude as a float32. */
  readonly bits: number;
  readonly cutoff: number;
  readonly early: boolean;
}

/** Key of the counter-based random generator: two 32-bit words. */
export type RandomKey = readonly [number, number];

/** Which elements of the changes count in a `vote`: those whose sign is that of the sum, or `tie` where the sum is 0. */
export interface Election {
  /** The sum is weighted. */
  readonly weighted: boolean;
  readonly tie: 'positive' | 'negative';
}

interface Node {
  readonly kind: keyof typeof nodeKinds;
  readonly dtype: ArithmeticDtype;
  readonly inputs: readonly Value[];
  readonly numbers: readonly number[];
  readonly table: Float64Array | undefined;
}

/** A program as workers get it: what some values need and nothing else. */
export interface Emitted {
  readonly sources: readonly StoredTensor[];
  readonly nodes: NativeProgram['nodes'];
  /** The values asked for, as they are numbered there. */
  readonly values: readonly number[];
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
    return this.#add({ kind: 'linear', dtype, inputs: values, numbers: weights });
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
    return this.#add({
      kind: 'rowLinear',
      dtype,
      inputs: values,
      numbers: [rowSenses[rows]],
      table: sharedTable(weights),
    });
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
    const numbersOf = ({ bits, cutoff, early }: MagnitudeBound) => [bits, cutoff, Number(early)];
    const numbers = [...numbersOf(lower), ...numbersOf(upper), scale];
    return this.#add({ kind: 'keep', dtype: 'F32', inputs: [value, by], numbers });
  }

  /** `value` · `scale` with a probability, else 0. */
  drop({
    value,
    key,
    probability,
    scale,
  }: {
    value: Value;
    key: RandomKey;
    probability: number;
    scale: number;
  }): Value {
    return this.#add({ kind: 'drop', dtype: 'F32', inputs: [value], numbers: [...key, probability, scale] });
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
    key: RandomKey;
    lowest: number;
    highest: number;
    scale: number;
  }): Value {
    const numbers = [...key, lowest, highest, scale];
    return this.#add({ kind: 'dropRanked', dtype: 'F32', inputs: [value], numbers });
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
    const divisors = { none: 0, weights: 1, count: 2 };
    const numbers = [
      Number(election !== null),
      Number(election?.weighted ?? false),
      Number(election?.tie === 'positive'),
      divisors[divisor],
      least,
      scale,
      ...weights,
    ];
    return this.#add({ kind: 'vote', dtype, inputs: [base, ...changes], numbers });
  }

  /** The variance of each element over the values. */
  variance(values: readonly Value[]): Value {
    return this.#add({ kind: 'variance', dtype: 'F32', inputs: values, numbers: [] });
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
    return this.#add({ kind: 'nearSwap', dtype, inputs: [base, value], numbers: [t] });
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
    const table = sharedTable(divergences);
    return this.#add({ kind: 'importance', dtype: 'F32', inputs: [value, base], numbers: [], table });
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
    kept: ArrayLike<number>;
    dtype: ArithmeticDtype;
  }): Value {
    return this.#add({
      kind: 'select',
      dtype,
      inputs: [value, base],
      numbers: [rowSenses[rows]],
      table: sharedTable(kept),
    });
  }

  #add(node: Omit<Node, 'table'> & { table?: Float64Array }): Value {
    return { node: this.#nodes.push({ table: undefined, ...node }) - 1 };
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
        const { kind, dtype, inputs, numbers, table } = this.#nodes[index] as Node;
        return {
          kind: nodeKinds[kind],
          dtype: dtypeIndex(dtype),
          inputs: inputs.map(idOf),
          numbers,
          ...(table === undefined ? {} : { table, tableRow: 0 }),
        };
      }),
      values: wanted.map(idOf),
    };
  }
}

/** Numbers in memory that threads share, so that every slice's job need not carry a copy. */
const sharedTable = (numbers: ArrayLike<number>): Float64Array => {
  const table = new Float64Array(new SharedArrayBuffer(numbers.length * Float64Array.BYTES_PER_ELEMENT));
  table.set(numbers);
  return table;
};
