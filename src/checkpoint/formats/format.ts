import type { FileHandle } from 'node:fs/promises';
import type { Dtype } from '../../tensor/dtype.js';
import type { Shape } from '../../tensor/reference.js';

/** A tensor as a file's header describes it, from `begin` to `end` in bytes from the start of the file. */
export interface TensorInFile {
  readonly dtype: Dtype;
  readonly shape: Shape;
  readonly begin: number;
  readonly end: number;
}

/** A parsed header: where each tensor is, and what else the file says of itself. */
export interface FileHeader {
  readonly metadata: Readonly<Record<string, string>>;
  readonly tensors: ReadonlyMap<string, TensorInFile>;
}

/** A header as it was read, and the SHA-256 in hexadecimal of all bytes before the data. */
export interface RawHeader {
  readonly content: Uint8Array;
  readonly hash: string;
}

/** A tensor that is to be written. */
export interface TensorToWrite {
  readonly name: string;
  readonly dtype: Dtype;
  readonly shape: Shape;
  readonly bytes: number;
}

/**
 * A container format of weights: how the files of a checkpoint are named, and what stands in them before the
 * data. Tensors lie in it one behind the other, each in one piece; all else about it is said here. Another
 * format is a file with one of these, and a line in formats.ts.
 */
export interface ContainerFormat {
  readonly name: string;
  /** The end of its files' names, dot included. */
  readonly extension: string;
  /** The name of shard `index` (from 0) of `count`; of 1, the whole checkpoint's. */
  shardName(index: number, count: number): string;
  /** The name of the file that says which tensor is in which shard, where there are several. */
  readonly indexName: string;
  /** @param places file names by tensor */
  encodeIndex(
    places: ReadonlyMap<string, string>,
    totals: { readonly total_parameters: number; readonly total_size: number },
  ): string;
  /**
   * @returns file names by tensor; none leads out of the index's directory
   *
   * @throws LayerloomError INDEX_INVALID, INDEX_UNSAFE_NAME
   */
  parseIndex(text: string, file: string): ReadonlyMap<string, string>;

  /** Negative where `a` stands before `b` in a file. */
  compare(a: Pick<TensorToWrite, 'name' | 'dtype'>, b: Pick<TensorToWrite, 'name' | 'dtype'>): number;
  /** The bytes before the data of a file that holds these tensors in this order. */
  encodeHeader(tensors: Iterable<TensorToWrite>): Uint8Array;
  /** The most bytes before the data that loaders read. */
  readonly mostHeaderBytes: number;
  /**
   * Reads the header of an open file of `bytes`.
   *
   * @throws LayerloomError where the file is too short for it; what the system says of a read
   */
  readHeader(handle: FileHandle, file: string, bytes: number): Promise<RawHeader>;
  /**
   * Parses a header that accounts for every byte of a file of `bytes`.
   *
   * @throws LayerloomError naming file and tensor
   */
  parseHeader(content: Uint8Array, file: string, bytes: number): FileHeader;
  /** True if loaders take a file with this metadata as a shard as it stands; others are written anew. */
  isLoadable(metadata: FileHeader['metadata']): boolean;
}
