import { createHash } from 'node:crypto';

/** A tensor as its file stores it. */
export interface HashedTensor {
  readonly name: string;
  /** As safetensors writes it: `BF16`. */
  readonly dtype: string;
  readonly shape: readonly number[];
  /** Of its bytes: little-endian, contiguous, row-major. */
  readonly sha256: string;
}

/**
 * Returns a digest of a checkpoint's tensors that no division into files and no order changes: the SHA-256 of
 * one line of JSON for each tensor, `["NAME","DTYPE",[SHAPE],"SHA-256"]` and a line feed, in the order of the
 * names' UTF-8 bytes.
 */
export const tensorsDigest = (tensors: readonly HashedTensor[]): string => {
  const lines = tensors
    .map((tensor) => ({ key: Buffer.from(tensor.name), tensor }))
    .sort((a, b) => Buffer.compare(a.key, b.key))
    .map(({ tensor: { name, dtype, shape, sha256 } }) => JSON.stringify([name, dtype, shape, sha256]));
  const hash = createHash('sha256');
  for (const line of lines) hash.update(`${line}\n`);
  return hash.digest('hex');
};
