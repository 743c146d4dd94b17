import type { BlockLayout } from '../../../tensor/block-layout.js';
import type { Dtype } from '../../../tensor/dtype.js';
import type { Shape } from '../../../tensor/reference.js';

/** A tensor in a file's header; `begin` and `end` are bytes from the file's start. */
export interface TensorInFile {
  readonly dtype: Dtype;
  readonly shape: Shape;
  readonly begin: number;
  readonly end: number;
  /** How to decode bytes that are not plain elements; then `dtype` is the output's. */
  readonly blocks?: BlockLayout;
  /** For a box of a tensor: the tensor's name and shape, and the box's first index. */
  readonly piece?: { readonly tensor: string; readonly shape: Shape; readonly at: Shape };
}

export interface FileHeader {
  readonly metadata: Readonly<Record<string, string>>;
  /** Tensors by transformers' names, with shapes in row-major order. */
  readonly tensors: ReadonlyMap<string, TensorInFile>;
  /** Text of small files in this one, by their names in transformers. Files beside it override them. */
  readonly sideFiles?: ReadonlyMap<string, string>;
}

export interface WeightsIndex {
  readonly name: string;
  /**
   * @returns file names by tensor, all within the index's directory
   *
   * @throws INDEX_INVALID, INDEX_UNSAFE_NAME
   */
  parse(text: string | Uint8Array, file: string): ReadonlyMap<string, string>;
}

export interface ContainerReader {
  readonly name: string;
  readonly extension: string;
  /** Set if a model may have several files. */
  readonly index?: WeightsIndex;
  /** Set if loaders prefer the index to a whole file. */
  readonly indexGoesFirst?: true;
  /** Set if a file means nothing without its folder, which is the model. */
  readonly isInFolder?: true;
  readonly carriesSideFiles?: true;
  /** Chooses weight files among a directory's names, without an index; empty unless the choice is clear. */
  weightsIn(names: readonly string[]): readonly string[];
  /**
   * Returns the header's bytes, for `parseHeader` and the file's hash. Set if the header is not at the file's
   * start; then `headerEnd` is not called.
   *
   * @param read called with ranges within the file, in any order
   * @throws as `headerEnd`; errors of `read`
   */
  readonly collectHeader?: (
    read: (begin: number, end: number) => Promise<Uint8Array>,
    file: string,
    fileBytes: number,
  ) => Promise<Uint8Array>;
  /**
   * Returns where the header ends in a file that begins with `start`. If `start` is too short, returns how
   * many bytes it should have.
   *
   * @throws LayerloomError if the file is too short or has no such header
   */
  headerEnd(start: Uint8Array, file: string, fileBytes: number): number;
  /**
   * Parses the bytes up to `headerEnd`, or the bytes that `collectHeader` returned. Tensors are contiguous and within
   * the file; several may share bytes.
   *
   * @throws LayerloomError naming file and tensor
   */
  parseHeader(header: Uint8Array, file: string, fileBytes: number): FileHeader;
}
