import type { BlockLayout } from '../../../tensor/block-layout.js';
import type { Dtype } from '../../../tensor/dtype.js';
import type { Shape } from '../../../tensor/reference.js';

/** A tensor in a file's header; `begin` and `end` are bytes from the start of the file. */
export interface TensorInFile {
  readonly dtype: Dtype;
  readonly shape: Shape;
  readonly begin: number;
  readonly end: number;
  /** Set if the bytes are not plain elements: how to decode them. `dtype` is then the output's. */
  readonly blocks?: BlockLayout;
  /** Set for a box of a tensor: the tensor's name and shape, and the box's first index. */
  readonly piece?: { readonly tensor: string; readonly shape: Shape; readonly at: Shape };
}

export interface FileHeader {
  readonly metadata: Readonly<Record<string, string>>;
  /** Tensors by transformers' names, with shapes in row-major order. */
  readonly tensors: ReadonlyMap<string, TensorInFile>;
  /** Text of small files inside this one, by their names in transformers. Files beside it take precedence. */
  readonly sideFiles?: ReadonlyMap<string, string>;
}

/** Maps tensors to files. */
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
  /** Including the dot. */
  readonly extension: string;
  /** Set if a model may have several files. */
  readonly index?: WeightsIndex;
  /** Loaders of this format prefer the index to a whole file. */
  readonly indexGoesFirst?: true;
  /** A file means nothing without its folder, which is the model. */
  readonly isInFolder?: true;
  readonly carriesSideFiles?: true;
  /**
   * Returns the weights in a directory without an index; empty without any, or if the choice is
   * ambiguous.
   */
  weightsIn(names: readonly string[]): readonly string[];
  /**
   * Set if the header is not at the start of the file; `headerEnd` is then not called. Returns the header's
   * bytes, for `parseHeader` and for the file's hash.
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
   * Returns where the header ends in a file that begins with `start`. If `start` is too short, returns the
   * number of bytes to call it with instead.
   *
   * @throws LayerloomError if the file is too short or has no such header
   */
  headerEnd(start: Uint8Array, file: string, fileBytes: number): number;
  /**
   * Parses the bytes up to `headerEnd`, or those of `collectHeader`. Tensors are contiguous and within the
   * file; several may share bytes.
   *
   * @throws LayerloomError naming file and tensor
   */
  parseHeader(header: Uint8Array, file: string, fileBytes: number): FileHeader;
}
