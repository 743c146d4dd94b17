import { itemAt } from '../base/lookup.js';
import { bitsOf, type Dtype } from './dtype.js';

/**
 * The key under which an operand of a formula has its kind. A symbol, so that it is in memory only: JSON of a plan has the
 * operand without it.
 */
export const operandKind: unique symbol = Symbol('kind of operand');

/** A tensor's bytes in an input of a plan: `inputs[input].files[file]` from `begin` to `end`. */
export interface StoredTensor {
  readonly [operandKind]: 'stored';
  readonly input: number;
  readonly file: number;
  readonly begin: number;
  readonly end: number;
  readonly dtype: Dtype;
}

/** Returns a range of an input's file as an operand. */
export const storedTensor = (
  input: number,
  { file, begin, end, dtype }: Pick<StoredTensor, 'file' | 'begin' | 'end' | 'dtype'>,
): StoredTensor => ({ [operandKind]: 'stored', input, file, begin, end, dtype });

/** Returns a key of a byte range. Ranges of equal keys are the same bytes. */
export const sourceId = ({ input, file, begin, end }: StoredTensor): string =>
  `${input} ${file} ${begin} ${end}`;

/** Returns the key of a byte range; of ranges with equal keys one is read. */
export type IdOfSource = (source: StoredTensor) => string;

/**
 * Returns keys by which a file that several inputs have is one: the base of adapters.
 *
 * @param inputs of the plan that the byte ranges are of
 */
export const idByPath =
  (inputs: readonly { readonly files: readonly { readonly path: string }[] }[]): IdOfSource =>
  ({ input, file, begin, end }) =>
    `${itemAt(itemAt(inputs, input).files, file).path} ${begin} ${end}`;

/** Returns the byte ranges without repetitions. */
export const distinctSources = (
  sources: readonly StoredTensor[],
  idOf: IdOfSource = sourceId,
): readonly StoredTensor[] => [...new Map(sources.map((source) => [idOf(source), source])).values()];

export const bytesOfSources = (sources: readonly StoredTensor[]): number =>
  sources.reduce((total, { begin, end }) => total + end - begin, 0);

/** Returns the number of elements of a byte range. */
export const elementsIn = ({ begin, end, dtype }: StoredTensor): number =>
  ((end - begin) * 8) / bitsOf(dtype);
