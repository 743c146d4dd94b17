import { createHash } from 'node:crypto';

/** Returns a generator's key for a seed: 64 bits of the seed's SHA-256. */
export const randomKey = (seed: string): bigint =>
  createHash('sha256').update(seed).digest().readBigUInt64BE();
