import { constants } from 'node:fs';
import { join } from 'node:path';
import { LayerloomError } from '../../base/errors/errors.js';
import { itemAt } from '../../base/errors/lookup.js';
import { reading } from '../../base/files/writing.js';
import { readHeaderOf } from '../../models/checkpoint/containers/read-header.js';
import { safetensorsReader } from '../../models/checkpoint/containers/safetensors/reader.js';
import type { WeightDigests } from '../../statements/merge-statement.js';
import { type HashedTensor, tensorsDigest } from '../../statements/tensors-digest.js';
import type { WorkerPool } from '../threads/pool.js';
import { withFile } from './durable.js';

/**
 * Hashes files of weights and each of their tensors, reading each file once.
 *
 * @param digest returns the digests of a file; default: reads it
 * @returns partial digests if the pool was stopped
 * @throws READ_FAILED, DUPLICATE_TENSOR, and errors of reading a header
 */
export const digestWeights = async (
  directory: string,
  files: readonly string[],
  pool: WorkerPool,
  report: (done: number, total: number) => void,
  digest: (file: string, path: string) => Promise<DigestedFile | undefined> = (_, path) =>
    digestFile(path, pool),
): Promise<WeightDigests> => {
  const hashes = new Map<string, string>();
  const tensors = new Map<string, HashedTensor & { readonly file: string }>();
  await pool.eachInLanes(files, async (file) => {
    const path = join(directory, file);
    const found = await reading(path, () => digest(file, path));
    if (found === undefined) return;
    hashes.set(file, found.sha256);
    for (const tensor of found.tensors) {
      const { name } = tensor;
      const other = tensors.get(name);
      if (other !== undefined)
        throw new LayerloomError('DUPLICATE_TENSOR', { file: path, tensor: name, alsoIn: other.file });
      tensors.set(name, { ...tensor, file: path });
    }
    report(hashes.size, files.length);
  });
  return {
    files: new Map(files.flatMap((file) => (hashes.has(file) ? [[file, hashes.get(file) ?? '']] : []))),
    tensors: tensorsDigest([...tensors.values()]),
  };
};

export interface DigestedFile {
  readonly sha256: string;
  readonly tensors: readonly HashedTensor[];
}

/**
 * Hashes a safetensors file and each of its tensors.
 *
 * @returns undefined if the pool was stopped
 */
export const digestFile = (path: string, pool: WorkerPool): Promise<DigestedFile | undefined> =>
  // Does not wait for the writer of a pipe.
  withFile(path, constants.O_RDONLY | constants.O_NONBLOCK, async (handle) => {
    const found = await handle.stat();
    if (!found.isFile()) throw new Error('it is not a file');
    const bytes = found.size;
    const { header } = await readHeaderOf(safetensorsReader, handle, path, bytes);
    const tensors = [...safetensorsReader.parseHeader(header, path, bytes).tensors].sort(
      ([, a], [, b]) => a.begin - b.begin || a.end - b.end,
    );
    const ranges = tensors.map(([, { begin, end }]) => ({ begin, end }));
    const digests = await pool.digest({ fd: handle.fd, bytes, ranges }, path);
    if (digests === undefined) return undefined;
    return {
      sha256: digests.sha256,
      tensors: tensors.map(([name, { dtype, shape }], index) => ({
        ...{ name, dtype, shape },
        sha256: itemAt(digests.ranges, index),
      })),
    };
  });
