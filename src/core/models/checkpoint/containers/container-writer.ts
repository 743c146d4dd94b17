import type { Dtype } from '../../../tensor/dtype.js';
import type { Shape } from '../../../tensor/reference.js';
import type { ContainerReader, FileHeader } from './container-reader.js';

/** A tensor that is to be written. */
export interface TensorToWrite {
  readonly name: string;
  readonly dtype: Dtype;
  readonly shape: Shape;
  readonly bytes: number;
}

/** A container that outputs and shards of stores are written in: tensors one behind the other, each in one piece. */
export interface ContainerWriter {
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
  /** Negative where `a` stands before `b` in a file. */
  compare(a: Pick<TensorToWrite, 'name' | 'dtype'>, b: Pick<TensorToWrite, 'name' | 'dtype'>): number;
  /** The bytes before the data of a file that holds these tensors in this order. */
  encodeHeader(tensors: Iterable<TensorToWrite>): Uint8Array;
  /** The most bytes before the data that loaders read. */
  readonly mostHeaderBytes: number;
  /** True if loaders take a file that this reader read as a shard as it stands; others are written anew. */
  takes(reader: ContainerReader, metadata: FileHeader['metadata']): boolean;
}
