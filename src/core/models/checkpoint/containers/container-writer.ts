import type { Dtype } from '../../../tensor/dtype.js';
import type { Shape } from '../../../tensor/reference.js';
import type { ContainerReader, FileHeader } from './container-reader.js';

export interface TensorToWrite {
  readonly name: string;
  readonly dtype: Dtype;
  readonly shape: Shape;
  readonly bytes: number;
}

/** The output format of checkpoints and stores: consecutive, contiguous tensors. */
export interface ContainerWriter {
  readonly extension: string;
  /** Returns the name of shard `index` (from 0) of `count`; if `count` is 1, of the whole checkpoint. */
  shardName(index: number, count: number): string;
  /** The file that maps tensors to shards, if there are several. */
  readonly indexName: string;
  encodeIndex(
    places: ReadonlyMap<string, string>,
    totals: { readonly total_parameters: number; readonly total_size: number },
  ): string;
  /** Negative if `a` precedes `b` in a file. */
  compare(a: Pick<TensorToWrite, 'name' | 'dtype'>, b: Pick<TensorToWrite, 'name' | 'dtype'>): number;
  encodeHeader(tensors: Iterable<TensorToWrite>): Uint8Array;
  /** Maximum header that loaders accept, in bytes. */
  readonly mostHeaderBytes: number;
  /** True if loaders accept an input file as a shard without changes. */
  takes(reader: ContainerReader, metadata: FileHeader['metadata']): boolean;
}
