import { createHash } from 'node:crypto';

export interface HashedTensor {
  readonly name: string;
  /** safetensors' name of the dtype: `BF16`. */
  readonly dtype: string;
  readonly shape: readonly number[];
  /** SHA-256 of the bytes: little-endian, contiguous, row-major. */
  readonly sha256: string;
}

/**
 * Returns the digest of a checkpoint's tensors, which does not depend on their order or files. It is the
 * SHA-256 of one JSON line per tensor, `["NAME","DTYPE",[SHAPE],"SHA-256"]` and a line feed, ordered by the
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
