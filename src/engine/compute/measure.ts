import { itemAt } from '../../lookup.js';
import { dtypeIndex, type MeasureKind, type Measurement, measureKinds } from '../../native/addon.js';
import {
  type Counted,
  type Measurer,
  mostCandidates,
  type TiedElement,
  type Window,
} from '../../operations/measurer.js';
import type { Emitted, Program, Value } from '../../operations/program.js';
import { type ArithmeticDtype, bitsOf } from '../../tensor/dtype.js';
import type { InputFiles } from '../input-files.js';
import { sourceError } from '../threads/errors.js';
import type { WorkerPool } from '../threads/pool.js';

/** Elements of a block. Part of the numeric contract: sums are taken block by block, and then in their order. */
const blockElements = 4 * 1024 * 1024;

/** A sample: pieces of at most so many elements, and together of a share of the tensor. */
const samplePieces = 32;
const pieceElements = 32 * 1024;
const sampled = 1 / 64;
/** Elements of a tensor that is worth a sample. */
const leastSampled = 2 ** 20;

/** Whole rows of a tensor, in elements. */
interface Block {
  readonly first: number;
  readonly count: number;
}

/** Measures in worker threads, block by block. */
export class BlockMeasurer implements Measurer {
  readonly #pool: WorkerPool;
  readonly #inputs: InputFiles;
  readonly #tensor: string;

  /** @param tensor its name, for errors */
  constructor(pool: WorkerPool, inputs: InputFiles, tensor: string) {
    this.#pool = pool;
    this.#inputs = inputs;
    this.#tensor = tensor;
  }

  /** Σ xᵢxⱼ for pairs i ≤ j, in order. */
  async gram(program: Program, values: readonly Value[]): Promise<Float64Array> {
    return addAll(await this.#over(blocksOf(program), 'gram', program, values));
  }

  /** The same of each row along the last dimension, one behind the other. */
  async rowGram(program: Program, values: readonly Value[]): Promise<Float64Array> {
    return joinAll(await this.#over(blocksOf(program), 'rowGram', program, values));
  }

  /** The same of each column. */
  async columnGram(program: Program, values: readonly Value[]): Promise<Float64Array> {
    return addAll(await this.#over(blocksOf(program), 'columnGram', program, values));
  }

  /** Σ |x| of each value. */
  async magnitudes(program: Program, values: readonly Value[]): Promise<Float64Array> {
    return addAll(await this.#over(blocksOf(program), 'magnitudes', program, values));
  }

  /** For each row the Kullback-Leibler divergence of softmax(x) from softmax(base). */
  async divergence(program: Program, x: Value, base: Value): Promise<Float64Array> {
    return joinAll(await this.#over(blocksOf(program), 'divergence', program, [x, base]));
  }

  /** How many elements of each value have a magnitude of 0. */
  async zeros(program: Program, values: readonly Value[]): Promise<readonly number[]> {
    const numbers = values.map(() => 0);
    return [...addAll(await this.#over(blocksOf(program), 'ties', program, values, numbers))];
  }

  /** Of each value how many elements are above 0, less those below: whole numbers, whose sum has no order. */
  async signs(program: Program, values: readonly Value[]): Promise<Float64Array> {
    return addAll(await this.#over(blocksOf(program), 'signs', program, values));
  }

  /** Counts magnitudes in a window for each value; of a large tensor's sample, where that is enough. */
  async histogram(
    program: Program,
    values: readonly Value[],
    windows: readonly Window[],
    bins: number,
    sample: boolean,
  ): Promise<Counted> {
    const blocks = sample ? sampleOf(program) : blocksOf(program);
    const counts = new Uint32Array(new SharedArrayBuffer(4 * bins * values.length));
    const numbers = windows.flatMap(({ low, last, shift, candidates }) => [
      low,
      last,
      shift,
      ...Array.from({ length: mostCandidates }, (_, index) => candidates[index] ?? 0xffff_ffff),
    ]);
    const found = await this.#over(blocks, 'histogram', program, values, numbers, bins, counts);
    const each = 1 + mostCandidates;
    return {
      above: values.map((_, index) => found.reduce((total, part) => total + (part[index * each] ?? 0), 0)),
      counts: values.map((_, index) => counts.subarray(index * bins, (index + 1) * bins)),
      exact: windows.map(({ candidates }, index) =>
        candidates.map((_, c) => found.map((part) => part[index * each + 1 + c] ?? 0)),
      ),
      elements: blocks.reduce((total, { count }) => total + count, 0),
    };
  }

  async findTies(program: Program, tied: readonly TiedElement[]): Promise<number[]> {
    const blocks = blocksOf(program);
    const unknown = tied.filter(({ ofBlocks }) => ofBlocks === undefined);
    const counted =
      unknown.length === 0
        ? []
        : await this.#over(
            blocks,
            'ties',
            program,
            unknown.map(({ value }) => value),
            unknown.map(({ bits }) => bits),
          );
    return await Promise.all(
      tied.map(async (one) => {
        const { value, bits, ordinal } = one;
        const found = one.ofBlocks ?? counted.map((counts) => itemAt(counts, unknown.indexOf(one)));
        let left = ordinal;
        const at = found.findIndex((count) => {
          if (left <= count) return true;
          left -= count;
          return false;
        });
        if (at === -1) throw new Error(`${this.#tensor} has no ${ordinal} elements of one magnitude`);
        const block = itemAt(blocks, at);
        const [index] = await this.#over([block], 'findTie', program, [value], [bits, left]);
        return itemAt(index ?? [], 0);
      }),
    );
  }

  sampleSize(program: Program): number {
    return program.elements < leastSampled ? 0 : sampleElements(program);
  }

  /** A measure of every block, in their order. */
  async #over(
    blocks: readonly Block[],
    kind: MeasureKind,
    program: Program,
    values: readonly Value[],
    numbers: readonly number[] = [],
    bins = 0,
    counts: Uint32Array = new Uint32Array(),
  ): Promise<Float64Array[]> {
    const emitted = program.emit(values);
    return await Promise.all(
      blocks.map(async (block) => {
        const measurement = this.#measurementOf(block, kind, program, emitted, numbers, bins);
        const size = sizeOf(kind, program, block, values.length);
        const result = await this.#pool.measure(measurement, size, counts);
        if (result.ok) return result.out;
        const files = emitted.sources.map((source) => this.#inputs.pathOf(source));
        throw sourceError(result.status, this.#tensor, files);
      }),
    );
  }

  #measurementOf(
    { first, count }: Block,
    kind: MeasureKind,
    { columns }: Program,
    { sources, nodes, values }: Emitted,
    numbers: readonly number[],
    bins: number,
  ): Measurement {
    return {
      kind: measureKinds[kind],
      sources: sources.map((source) => ({
        fd: this.#inputs.fdOf(source),
        offset: source.begin + (first * bitsOf(source.dtype)) / 8,
        dtype: dtypeIndex(source.dtype as ArithmeticDtype),
      })),
      program: { nodes, first, columns },
      count,
      values,
      numbers: Float64Array.from(numbers),
      bins,
    };
  }
}

const sizeOf = (kind: MeasureKind, { columns }: Program, { count }: Block, values: number): number => {
  const pairs = (values * (values + 1)) / 2;
  switch (kind) {
    case 'gram':
      return pairs;
    case 'rowGram':
      return (count / columns) * pairs;
    case 'columnGram':
      return columns * pairs;
    case 'divergence':
      return count / columns;
    case 'histogram':
      return (1 + mostCandidates) * values;
    case 'findTie':
      return 1;
    default:
      return values;
  }
};

const blocksOf = ({ elements, columns }: Program, most = blockElements): Block[] => {
  const size = Math.max(1, Math.floor(most / columns)) * columns;
  return Array.from({ length: Math.ceil(elements / size) }, (_, index) => ({
    first: index * size,
    count: Math.min(size, elements - index * size),
  }));
};

/** Pieces at equal distances: small enough together, and of all parts of the tensor. */
const sampleOf = (program: Program): Block[] => {
  const most = Math.min(pieceElements, (program.elements * sampled) / samplePieces);
  const pieces = blocksOf(program, most);
  const count = Math.min(samplePieces, pieces.length);
  return Array.from(
    { length: count },
    (_, index) => pieces[Math.floor(((index + 0.5) * pieces.length) / count)] as Block,
  );
};

/** The elements of a sample, also of a tensor too small to be worth its pass. */
export const sampleElements = (program: Program): number =>
  sampleOf(program).reduce((total, { count }) => total + count, 0);

const addAll = (parts: readonly Float64Array[]): Float64Array => {
  const [first = new Float64Array(), ...rest] = parts;
  for (const part of rest)
    for (const [index, value] of part.entries()) first[index] = (first[index] ?? 0) + value;
  return first;
};

const joinAll = (parts: readonly Float64Array[]): Float64Array => {
  const joined = new Float64Array(parts.reduce((total, { length }) => total + length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
};
