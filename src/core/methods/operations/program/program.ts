import { itemAt, valueAt } from '../../../base/errors/lookup.js';
import type {
  Dequantisation,
  Election,
  MagnitudeBound,
  NodeOperation,
  ProgramNode,
  Quantisation,
  RowSlicing,
  SmallMatrix,
  WholeSlicing,
} from '../../../native/job.js';
import type { BlockLayout } from '../../../tensor/block-layout.js';
import { type ArithmeticDtype, arithmeticOf } from '../../../tensor/dtype.js';
import type { Rows } from '../../../tensor/rows.js';
import { elementsIn, type IdOfSource, type StoredTensor, sourceId } from '../../../tensor/stored-tensor.js';
import { sharedNumbers } from './shared-list.js';
import { watchedFor } from './watched.js';

/** A stored tensor or a node's result. */
export type Value = { readonly source: number } | { readonly node: number };

interface Node {
  readonly operation: NodeOperation;
  readonly inputs: readonly Value[];
  readonly dtype: ArithmeticDtype;
}

/** A source, and how it is cut into slices if not by element. */
export interface ProgramSource extends StoredTensor {
  readonly sliced?: RowSlicing | WholeSlicing;
}

/**
 * Sums of rows: row r of the result sums the terms from `starts[r]` up to, but excluding, `starts[r + 1]`.
 */
export interface RowSums {
  readonly starts: ArrayLike<number>;
  /** Pairs of row index and coefficient. */
  readonly terms: ArrayLike<number>;
}

/** The part of a program that the wanted values need, for workers. */
export interface Emitted {
  readonly sources: readonly ProgramSource[];
  readonly nodes: readonly ProgramNode[];
  readonly values: readonly number[];
  /** Values to check for NaN and infinity. `watchedOf[i]` lists those that wanted value i depends on. */
  readonly watched: readonly number[];
  readonly watchedOf: readonly (readonly number[])[];
  readonly columns: number;
  /** Slices are multiples of this number of rows, except at the tensor's end. */
  readonly rowsTogether: number;
}

/**
 * A computation over tensors of one shape. Methods append a node (native/jobs/program.hpp) and return its
 * value, in float32 unless a dtype is given.
 */
export class Program {
  readonly shape: readonly number[];
  readonly elements: number;
  #rows: 'first' | 'last' | undefined;
  readonly #sources: ProgramSource[] = [];
  readonly #nodes: Node[] = [];
  readonly #results: Value[] = [];

  readonly #idOf: IdOfSource;

  /** @param idOf identifies equal byte ranges; default: by input and file */
  constructor(shape: readonly number[], idOf: IdOfSource = sourceId) {
    this.#idOf = idOf;
    this.shape = shape;
    this.elements = shape.reduce((product, extent) => product * extent, 1);
  }

  /** Length of a row: the last dimension or, with rows along the first, the product of all other dimensions. */
  get columns(): number {
    const [first = 1] = this.shape;
    return Math.max(1, (this.#rows === 'first' ? this.elements / first : this.shape.at(-1)) ?? 1);
  }

  /**
   * Makes rows run along the last dimension or, for input rows, along the first.
   *
   * @returns false if the program already has rows along the other dimension
   */
  rowsAlong(dimension: 'first' | 'last'): boolean {
    if (this.shape.length <= 2 || this.elements === 0) return true;
    this.#rows ??= dimension;
    return this.#rows === dimension;
  }

  /** Adds a source; equal byte ranges of one dtype share a source. */
  source(source: StoredTensor): Value {
    return this.#source(source);
  }

  /**
   * Gathers rows of `width` elements: run (to, from, count) copies source rows [from, from + count) to rows
   * [to, to + count). Other rows are 0.
   *
   * @param runs ascending by `to` without overlaps, as triples or flat
   */
  gather(
    source: StoredTensor,
    width: number,
    runs: readonly (readonly [to: number, from: number, count: number])[] | Float64Array,
  ): Value {
    const numbers = sharedNumbers(runs instanceof Float64Array ? runs : runs.flat());
    return this.#source({ ...source, sliced: { slicing: 'rows', width, runs: numbers } });
  }

  /** Appends B·A or its transpose; `a` is [rank, in], `b` is [out, rank]. */
  product(
    a: StoredTensor,
    b: StoredTensor,
    how: Omit<Extract<NodeOperation, { readonly kind: 'product' }>, 'kind'>,
  ): Value {
    return this.#add({ kind: 'product', ...how }, [this.#whole(a), this.#whole(b)]);
  }

  /** Appends a small matrix, or the elementwise or Kronecker product of two; lists are in shared memory. */
  factored(factors: readonly SmallMatrix[], kronecker: boolean): Value {
    return this.#add({ kind: 'factored', kronecker, factors }, []);
  }

  /**
   * Multiplies each row by an orthogonal matrix: by blocks [size, size] along its diagonal, used in turn. If
   * size is 0, reflects rows at unit vectors.
   *
   * @param order each column's place among the blocks; empty if in order
   */
  turned(
    value: Value,
    how: { readonly size: number; readonly numbers: ArrayLike<number>; readonly order: ArrayLike<number> },
  ): Value {
    const [numbers, order] = [sharedNumbers(how.numbers), sharedNumbers(how.order)];
    return this.#add({ kind: 'turned', size: how.size, numbers, order }, [value]);
  }

  /** Sums a tensor's rows into rows of `width` elements, in float64, rounded to float32. */
  combineRows(source: StoredTensor, width: number, { starts, terms }: RowSums): Value {
    return this.#add(
      { kind: 'combineRows', width, starts: sharedNumbers(starts), terms: sharedNumbers(terms) },
      [this.#whole(source)],
    );
  }

  /** @param sources in the order of the node's inputs (`native/jobs/program.hpp`) */
  dequantise(sources: readonly StoredTensor[], how: Dequantisation): Value {
    return this.#add(
      { kind: 'dequantise', ...how },
      sources.map((source) => this.#whole(source)),
    );
  }

  unpack(source: StoredTensor, { type, width, head, plus }: BlockLayout): Value {
    return this.#add({ kind: 'unpack', type, width, head, plus }, [this.#whole(source)]);
  }

  /** Appends a quantised value: decoded to float32, or its codes as bytes labelled F8_E4M3. */
  quantise(value: Value, how: Quantisation, as: 'values' | 'codes' = 'values'): Value {
    const codes = as === 'codes';
    return this.#add({ kind: 'quantise', codes, ...how }, [value], codes ? 'F8_E4M3' : 'F32');
  }

  #whole(source: StoredTensor): Value {
    return this.#source({ ...source, sliced: { slicing: 'whole', elements: elementsIn(source) } });
  }

  #source(source: ProgramSource): Value {
    const isSame = (other: ProgramSource): boolean =>
      this.#idOf(other) === this.#idOf(source) &&
      other.dtype === source.dtype &&
      isSameSlicing(other, source);
    const known = this.#sources.findIndex(isSame);
    return { source: known === -1 ? this.#sources.push(source) - 1 : known };
  }

  dtypeOf(value: Value): ArithmeticDtype {
    return 'source' in value
      ? arithmeticOf(itemAt(this.#sources, value.source).dtype)
      : itemAt(this.#nodes, value.node).dtype;
  }

  /** Appends Σ weightᵢ·valueᵢ in float32, in the order of values, rounded once to `dtype`. */
  linear(values: readonly Value[], weights: readonly number[], dtype: ArithmeticDtype = 'F32'): Value {
    return this.#add({ kind: 'linear', weights }, values, dtype);
  }

  /** Appends a sum with weights by row: `weights[row·values.length + value]`. */
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

  drop({
    value,
    key,
    probability,
    scale,
  }: {
    value: Value;
    key: bigint;
    probability: number;
    scale: number;
  }): Value {
    return this.#add({ kind: 'drop', key, probability, scale }, [value]);
  }

  /** Drops elements with probabilities that depend on the magnitude's rank in its row. */
  dropRanked({
    value,
    key,
    lowest,
    highest,
    scale,
  }: {
    value: Value;
    key: bigint;
    lowest: number;
    highest: number;
    scale: number;
  }): Value {
    return this.#add({ kind: 'dropRanked', key, lowest, highest, scale }, [value]);
  }

  random({
    dtype,
    ...how
  }: Omit<Extract<NodeOperation, { readonly kind: 'random' }>, 'kind'> & {
    readonly dtype: ArithmeticDtype;
  }): Value {
    return this.#add({ kind: 'random', ...how }, [], dtype);
  }

  /** Appends a vote; `vote` in `src/core/native/job.ts` describes the settings. */
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
    election: Election | 'each' | null;
    divisor: 'none' | 'weights' | 'count';
    least: number;
    scale: number;
    dtype: ArithmeticDtype;
  }): Value {
    const operation = { kind: 'vote', weights, election, divisor, least, scale } as const;
    return this.#add(operation, [base, ...changes], dtype);
  }

  variance(values: readonly Value[]): Value {
    return this.#add({ kind: 'variance' }, values);
  }

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

  fisher({
    values,
    importances,
    weights,
    eps,
    dtype,
  }: {
    values: readonly Value[];
    importances: readonly Value[];
    weights: readonly number[];
    eps: number;
    dtype: ArithmeticDtype;
  }): Value {
    return this.#add({ kind: 'fisher', weights, eps }, [...values, ...importances], dtype);
  }

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

  /**
   * Copies rows of `width` elements bit for bit from several values of `dtype`; other rows are 0.
   *
   * @param runs triples (first row, index of the value, rows), ascending without overlaps
   */
  assemble({
    values,
    width,
    runs,
    dtype,
  }: {
    values: readonly Value[];
    width: number;
    runs: ArrayLike<number>;
    dtype: ArithmeticDtype;
  }): Value {
    return this.#add({ kind: 'assemble', width, runs: sharedNumbers(runs) }, values, dtype);
  }

  /** Copies `value` bit for bit and fills each row from `from` on with `values`. */
  fillRows({
    value,
    from,
    values,
    dtype,
  }: {
    value: Value;
    from: number;
    values: ArrayLike<number>;
    dtype: ArithmeticDtype;
  }): Value {
    return this.#add({ kind: 'fillRows', from, values: sharedNumbers(values) }, [value], dtype);
  }

  /** Marks a nested recipe's result, which is checked for NaN and infinity like a written value. */
  markResult(value: Value): void {
    this.#results.push(value);
  }

  #add(operation: NodeOperation, inputs: readonly Value[], dtype: ArithmeticDtype = 'F32'): Value {
    return { node: this.#nodes.push({ operation, inputs, dtype }) - 1 };
  }

  /**
   * Returns the program without unneeded nodes and sources.
   *
   * @param watch values to check for NaN and infinity. `results`: written values, except copies of stored
   * ones. `all`: stored values too, because measurements compute with them
   */
  emit(wanted: readonly Value[], watch: 'results' | 'all' | 'nothing' = 'nothing'): Emitted {
    const [sources, nodes] = [new Set<number>(), new Set<number>()];
    const visit = (value: Value): void => {
      if ('source' in value) sources.add(value.source);
      else if (!nodes.has(value.node)) {
        itemAt(this.#nodes, value.node).inputs.forEach(visit);
        nodes.add(value.node);
      }
    };
    wanted.forEach(visit);
    const sourceIds = new Map([...sources].sort((a, b) => a - b).map((source, id) => [source, id]));
    const nodeIds = new Map(
      [...nodes].sort((a, b) => a - b).map((node, index) => [node, sourceIds.size + index]),
    );
    const idOf = (value: Value): number =>
      'source' in value ? valueAt(sourceIds, value.source) : valueAt(nodeIds, value.node);
    const emitted = [...nodeIds.keys()].map((index): ProgramNode => {
      const { operation, inputs, dtype } = itemAt(this.#nodes, index);
      return { ...operation, inputs: inputs.map(idOf), dtype };
    });
    const values = wanted.map(idOf);
    const nested = this.#results.filter((value) => 'node' in value && nodes.has(value.node)).map(idOf);
    const watchedOf = values.map((value) =>
      watch === 'nothing'
        ? []
        : [
            ...watchedFor(emitted, sourceIds.size, value, [...values, ...nested]),
            ...(watch === 'all' ? [value] : []),
          ],
    );
    return {
      sources: [...sourceIds.keys()].map((source) => itemAt(this.#sources, source)),
      nodes: emitted,
      values,
      watched: [...new Set(watchedOf.flat())].sort((a, b) => a - b),
      watchedOf,
      columns: this.columns,
      rowsTogether: emitted.reduce(
        (most, node) => Math.max(most, node.kind === 'quantise' ? node.blockRows : 1),
        1,
      ),
    };
  }
}

const isSameSlicing = ({ sliced: a }: ProgramSource, { sliced: b }: ProgramSource): boolean => {
  if (a?.slicing !== 'rows' || b?.slicing !== 'rows') return a?.slicing === b?.slicing;
  return (
    a.width === b.width &&
    (a.runs === b.runs ||
      (a.runs.length === b.runs.length && a.runs.every((number, index) => number === b.runs[index])))
  );
};

const sharedBytes = (bytes: Uint8Array): Uint8Array => {
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.length));
  shared.set(bytes);
  return shared;
};
