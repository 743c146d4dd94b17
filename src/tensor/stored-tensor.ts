import type { Dtype } from './dtype.js';

/** A tensor's bytes in an input of a plan: `inputs[input].files[file]` from `begin` to `end`. */
export interface StoredTensor {
  readonly input: number;
  readonly file: number;
  readonly begin: number;
  readonly end: number;
  readonly dtype: Dtype;
}

/** Returns a key of a byte range. Ranges of equal keys are the same bytes. */
export const sourceId = ({ input, file, begin, end }: StoredTensor): string =>
  `${input} ${file} ${begin} ${end}`;

/** Returns the byte ranges without repetitions. */
export const distinctSources = (sources: readonly StoredTensor[]): readonly StoredTensor[] => [
  ...new Map(sources.map((source) => [sourceId(source), source])).values(),
];

export const bytesOfSources = (sources: readonly StoredTensor[]): number =>
  sources.reduce((total, { begin, end }) => total + end - begin, 0);
