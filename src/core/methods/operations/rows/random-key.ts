import { createHash } from 'node:crypto';

/** The generator's key for a seed: 64 bits of its SHA-256. */
export const randomKey = (seed: string): bigint =>
  createHash('sha256').update(seed).digest().readBigUInt64BE();
