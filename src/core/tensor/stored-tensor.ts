import { itemAt } from '../base/errors/lookup.js';
import { bitsOf, type Dtype } from './dtype.js';

/** The key of an operand's kind. JSON omits symbols, so it is not in a plan's JSON. */
export const operandKind: unique symbol = Symbol('kind of operand');

/** Bytes of a plan's input: `inputs[input].files[file]` from `begin` to `end`. */
export interface StoredTensor {
  readonly [operandKind]: 'stored';
  readonly input: number;
  readonly file: number;
  readonly begin: number;
  readonly end: number;
  readonly dtype: Dtype;
}

/** @throws Error for a tensor in pieces, which is not a single byte range */
export const storedTensor = (
  input: number,
  {
    file,
    begin,
    end,
    dtype,
    pieces,
  }: Pick<StoredTensor, 'file' | 'begin' | 'end' | 'dtype'> & { readonly pieces?: unknown },
): StoredTensor => {
  if (pieces !== undefined) throw new Error('a tensor in pieces is read as one byte range');
  return { [operandKind]: 'stored', input, file, begin, end, dtype };
};

/** Returns a text that identifies the bytes: equal texts mean equal bytes. */
export const sourceId = ({ input, file, begin, end }: StoredTensor): string =>
  `${input} ${file} ${begin} ${end}`;

/** Returns a key for a byte range. Ranges with equal keys are read once. */
export type IdOfSource = (source: StoredTensor) => string;

/** Identifies files by path, because several inputs may share one, such as the base of adapters. */
export const idByPath =
  (inputs: readonly { readonly files: readonly { readonly path: string }[] }[]): IdOfSource =>
  ({ input, file, begin, end }) =>
    `${itemAt(itemAt(inputs, input).files, file).path} ${begin} ${end}`;

export const distinctSources = (
  sources: readonly StoredTensor[],
  idOf: IdOfSource = sourceId,
): readonly StoredTensor[] => [...new Map(sources.map((source) => [idOf(source), source])).values()];

export const bytesOfSources = (sources: readonly StoredTensor[]): number =>
  sources.reduce((total, { begin, end }) => total + end - begin, 0);

export const elementsIn = ({ begin, end, dtype }: StoredTensor): number =>
  ((end - begin) * 8) / bitsOf(dtype);
