import { itemAt } from '../../../base/errors/lookup.js';
import { CountSums } from '../../../methods/operations/program/count-sums.js';
import type {
  Counted,
  Measurer,
  Pursued,
  Pursuits,
  TiedElement,
} from '../../../methods/operations/program/measurer.js';
import { Program, type Value } from '../../../methods/operations/program/program.js';
import type { NonFiniteElement } from '../../../native/job.js';
import type { Measure, Window } from '../../../native/measure.js';
import type { Extent } from '../../../tensor/extent.js';
import type { Shape } from '../../../tensor/reference.js';
import { elementsIn, type StoredTensor } from '../../../tensor/stored-tensor.js';
import type { InputFiles } from '../../input-files.js';
import type { WorkerPool } from '../../threads/pool.js';
import {
  BlockSums,
  blocksOf,
  type ElementRange,
  inParts,
  type Measured,
  measureBlock,
  type TensorMeasures,
} from './blocks.js';
import { describeNonFinite, firstOf, type NonFiniteValue, refusedNonFinite } from './non-finite.js';
import { pursueRows } from './pursue.js';

/** Returns measures over values, which `ids` numbers in the emitted program. */
type MeasuresOf = (ids: readonly number[]) => readonly Measure[];

/** Called for a tensor's first NaN or infinity. */
export type OnNonFinite = (value: NonFiniteValue, element: NonFiniteElement, remedy?: string) => void;

const refuse: OnNonFinite = (value, _, remedy) => {
  throw refusedNonFinite(value, remedy);
};

/** Size of a sample: number of pieces, elements in each, share of the tensor. */
const samplePieces = 64;
const pieceElements = 16 * 1024;
const sampled = 1 / 64;
/** Number of elements first searched for a tie near a bound; doubles each time. */
const searchedFirst = 2 ** 16;
const mostCounted = 2 ** 32 - 1;
/** Smaller tensors are measured whole, because a sample would save little. */
const leastSampled = 2 ** 20;

export class BlockMeasurer implements Measurer {
  readonly #pool: WorkerPool;
  readonly #inputs: InputFiles;
  readonly #tensor: string;
  readonly #onNonFinite: OnNonFinite;

  /** @param onNonFinite receives the first element that makes a sum NaN or infinite; default: throws */
  constructor(pool: WorkerPool, inputs: InputFiles, tensor: string, onNonFinite: OnNonFinite = refuse) {
    this.#pool = pool;
    this.#inputs = inputs;
    this.#tensor = tensor;
    this.#onNonFinite = onNonFinite;
  }

  async gram(program: Program, values: readonly Value[]): Promise<Float64Array> {
    return await this.#sumOf(program, values, (ids) => [{ kind: 'gram', values: ids }]);
  }

  async rowGram(program: Program, values: readonly Value[]): Promise<Float64Array> {
    return await this.#sumOf(program, values, (ids) => [{ kind: 'rowGram', values: ids }]);
  }

  async columnGram(program: Program, values: readonly Value[]): Promise<Float64Array> {
    return await this.#sumOf(program, values, (ids) => [{ kind: 'columnGram', values: ids }]);
  }

  async columnSums(program: Program, value: Value): Promise<Float64Array> {
    return await this.#sumOf(program, [value], (ids) => [{ kind: 'columnSums', value: itemAt(ids, 0) }]);
  }

  /** @throws NON_FINITE, because NaN and infinity would spread to all products */
  async pursue(pursued: Pursued): Promise<Pursuits> {
    const { matrix, width } = pursued;
    const program = new Program([elementsIn(matrix) / width, width]);
    await this.magnitudes(program, [program.source(matrix)]);
    return await pursueRows(this.#pool, this.#inputs, this.#tensor, pursued);
  }

  async divergence(program: Program, x: Value, base: Value): Promise<Float64Array> {
    return await this.#sumOf(program, [x, base], (ids) => [
      { kind: 'divergence', value: itemAt(ids, 0), base: itemAt(ids, 1) },
    ]);
  }

  async magnitudes(program: Program, values: readonly Value[]): Promise<Float64Array> {
    return await this.#numbersOf(program, values, (value) => ({ kind: 'magnitudes', value }));
  }

  async alone(program: Program, values: readonly Value[], bits: number): Promise<Float64Array> {
    return await this.#sumOf(program, values, (ids) => [{ kind: 'countAlone', values: ids, bits }]);
  }

  async signs(program: Program, values: readonly Value[]): Promise<Float64Array> {
    return await this.#numbersOf(program, values, (value) => ({ kind: 'signs', value }));
  }

  async histogram(
    program: Program,
    values: readonly Value[],
    windows: readonly Window[],
    bins: number,
    sample: boolean,
    zeros = false,
  ): Promise<Counted> {
    const parts = inParts(sample ? sampleOf(program) : blocksOf(program), mostCounted);
    const [only = [], ...more] = parts;
    if (more.length === 0) return await this.#histogram(only, program, values, windows, bins, zeros);
    const sums = new CountSums(values.length, bins);
    const exact = windows.map(({ candidates }) => candidates.map((): number[] => []));
    const ofZeros = values.map(() => 0);
    for (const part of parts) {
      const counted = await this.#histogram(part, program, values, windows, bins, zeros);
      sums.add(counted);
      for (const [value, one] of (counted.zeros ?? []).entries())
        ofZeros[value] = itemAt(ofZeros, value) + one;
      for (const [value, ofValue] of exact.entries())
        for (const [c, blocks] of ofValue.entries()) blocks.push(...itemAt(itemAt(counted.exact, value), c));
    }
    return { ...sums, exact, zeros: ofZeros };
  }

  async #histogram(
    blocks: readonly ElementRange[],
    program: Program,
    values: readonly Value[],
    windows: readonly Window[],
    bins: number,
    zeros: boolean,
  ): Promise<Counted> {
    const counts = new Uint32Array(new SharedArrayBuffer(4 * bins * values.length));
    const countsOf = (index: number) => counts.subarray(index * bins, (index + 1) * bins);
    const found = await this.#over(blocks, program, values, (ids) => [
      ...ids.map((value, index) => ({
        kind: 'histogram' as const,
        value,
        window: itemAt(windows, index),
        counts: countsOf(index),
      })),
      ...(zeros ? ids.map((value) => ({ kind: 'countMagnitude' as const, value, bits: 0 })) : []),
    ]);
    const numberOf = (ofBlock: readonly Float64Array[], value: number, number: number): number =>
      itemAt(itemAt(ofBlock, value), number);
    const sumOf = (measure: number): number =>
      found.reduce((total, block) => total + numberOf(block, measure, 0), 0);
    return {
      above: values.map((_, value) => sumOf(value)),
      counts: values.map((_, value) => countsOf(value)),
      exact: windows.map(({ candidates }, value) =>
        candidates.map((_, c) => found.map((block) => numberOf(block, value, 1 + c))),
      ),
      elements: blocks.reduce((total, { count }) => total + count, 0),
      ...(zeros ? { zeros: values.map((_, value) => sumOf(values.length + value)) } : {}),
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
            program,
            unknown.map(({ value }) => value),
            (ids) =>
              ids.map((value, index) => ({
                kind: 'countMagnitude',
                value,
                bits: itemAt(unknown, index).bits,
              })),
          );
    return await Promise.all(
      tied.map(async (one) => {
        const { value, bits, ordinal } = one;
        const ofBlocks =
          one.ofBlocks ?? counted.map((counts) => itemAt(itemAt(counts, unknown.indexOf(one)), 0));
        let left = ordinal;
        const at = ofBlocks.findIndex((count) => {
          if (left <= count) return true;
          left -= count;
          return false;
        });
        if (at === -1) throw new Error(`${this.#tensor} has no ${ordinal} elements of one magnitude`);
        const block = itemAt(blocks, at);
        return await this.#findTie(program, value, bits, block, left);
      }),
    );
  }

  /** Finds the `ordinal`-th tie from the beginning or end of a range; undefined if it has fewer. */
  async findAmong(
    program: Program,
    { value, bits, ordinal }: Pick<TiedElement, 'value' | 'bits' | 'ordinal'>,
    among: Extent,
    forwards: boolean,
  ): Promise<number | undefined> {
    let [left, rest] = [ordinal, among];
    for (let rows = Math.ceil(searchedFirst / program.columns); rest.begin < rest.end; rows *= 2) {
      const count = Math.min(rows * program.columns, rest.end - rest.begin);
      const block = { index: 0, first: forwards ? rest.begin : rest.end - count, count };
      const [found = []] = await this.#over([block], program, [value], (ids) =>
        ids.map((id) => ({ kind: 'countMagnitude', value: id, bits })),
      );
      const tied = itemAt(itemAt(found, 0), 0);
      if (left <= tied)
        return await this.#findTie(program, value, bits, block, forwards ? left : tied - left + 1);
      left -= tied;
      rest = forwards ? { ...rest, begin: rest.begin + count } : { ...rest, end: rest.end - count };
    }
    return undefined;
  }

  async #findTie(
    program: Program,
    value: Value,
    bits: number,
    block: ElementRange,
    ordinal: number,
  ): Promise<number> {
    const [found = []] = await this.#over([block], program, [value], (ids) =>
      ids.map((id) => ({ kind: 'findMagnitude', value: id, bits, ordinal })),
    );
    return itemAt(itemAt(found, 0), 0);
  }

  async checkFactor(source: StoredTensor): Promise<void> {
    const remedy = 'train the adapter again, or take another of its checkpoints';
    await this.checkFinite(source, [elementsIn(source)], remedy);
  }

  /** @throws NON_FINITE */
  async checkFinite(source: StoredTensor, shape: Shape, remedy: string): Promise<void> {
    const program = new Program(shape);
    await this.#sums(
      program,
      [program.source(source)],
      ([value = 0]) => [{ kind: 'magnitudes', value }],
      remedy,
    );
  }

  sampleSize(program: Program): number {
    return program.elements < leastSampled ? 0 : sampleElements(program);
  }

  async #sumOf(program: Program, values: readonly Value[], measuresOf: MeasuresOf): Promise<Float64Array> {
    return itemAt(await this.#sums(program, values, measuresOf), 0);
  }

  async #numbersOf(
    program: Program,
    values: readonly Value[],
    measureOf: (id: number) => Measure,
  ): Promise<Float64Array> {
    const sums = await this.#sums(program, values, (ids) => ids.map(measureOf));
    return Float64Array.from(sums, (sum) => itemAt(sum, 0));
  }

  async #sums(
    program: Program,
    values: readonly Value[],
    measuresOf: MeasuresOf,
    remedy?: string,
  ): Promise<readonly Float64Array[]> {
    const wanted = this.#wanted(program, values, measuresOf);
    const sums = new BlockSums(program, wanted.measures);
    const elements: NonFiniteElement[] = [];
    await Promise.all(
      blocksOf(program, undefined, wanted.emitted.rowsTogether).map(async (block) => {
        const { found, nonFinite } = await this.#measure(wanted, block);
        sums.add(block, found);
        elements.push(...nonFinite);
      }),
    );
    const first = firstOf(elements);
    if (first !== undefined) {
      const tensor = { name: this.#tensor, shape: program.shape };
      const files = wanted.emitted.sources.map(this.#inputs.pathOf);
      this.#onNonFinite(describeNonFinite(first, tensor, files), first, remedy);
    }
    return sums.found;
  }

  async #over(
    blocks: readonly ElementRange[],
    program: Program,
    values: readonly Value[],
    measuresOf: MeasuresOf,
  ): Promise<(readonly Float64Array[])[]> {
    const wanted = this.#wanted(program, values, measuresOf);
    return await Promise.all(blocks.map(async (block) => (await this.#measure(wanted, block)).found));
  }

  #wanted(program: Program, values: readonly Value[], measuresOf: MeasuresOf): TensorMeasures {
    const emitted = program.emit(values, 'all');
    return { tensor: this.#tensor, emitted, measures: measuresOf(emitted.values) };
  }

  #measure(wanted: TensorMeasures, block: ElementRange): Promise<Measured> {
    return measureBlock(this.#pool, this.#inputs, wanted, block);
  }
}

const sampleOf = (program: Program): ElementRange[] => {
  const most = Math.min(pieceElements, (program.elements * sampled) / samplePieces);
  const pieces = blocksOf(program, most);
  const count = Math.min(samplePieces, pieces.length);
  return Array.from(
    { length: count },
    (_, index) => pieces[Math.floor(((index + 0.5) * pieces.length) / count)] as ElementRange,
  );
};

/** Counts sampled elements, even for a tensor too small to sample. */
export const sampleElements = (program: Program): number =>
  sampleOf(program).reduce((total, { count }) => total + count, 0);
