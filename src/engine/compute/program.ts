import { dtypeIndex, type NativeProgram, nodeKinds, type ProgramNode } from '../../native/addon.js';
import type { StoredTensor } from '../../plan/plan.js';
import type { ArithmeticDtype } from '../../tensor/dtype.js';

/** A value of a program that is being written: a source or a node. */
export type Value = { readonly source: number } | { readonly node: number };

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

/** How one tensor comes about, written value by value; what is measured on the way is measured of the values so far. */
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

  source(source: StoredTensor): Value {
    const known = this.#sources.findIndex(
      ({ input, file, begin, dtype }) =>
        input === source.input && file === source.file && begin === source.begin && dtype === source.dtype,
    );
    return { source: known === -1 ? this.#sources.push(source) - 1 : known };
  }

  add(
    kind: keyof typeof nodeKinds,
    inputs: readonly Value[],
    numbers: readonly number[] = [],
    { dtype = 'F32', table }: { dtype?: ArithmeticDtype; table?: Float64Array } = {},
  ): Value {
    return { node: this.#nodes.push({ kind, dtype, inputs, numbers, table }) - 1 };
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
export const sharedTable = (numbers: ArrayLike<number>): Float64Array => {
  const table = new Float64Array(new SharedArrayBuffer(numbers.length * Float64Array.BYTES_PER_ELEMENT));
  table.set(numbers);
  return table;
};
