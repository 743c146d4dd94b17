import { createHash } from 'node:crypto';

/** 64 bits of the seed's SHA-256. */
export const randomKey = (seed: string): bigint =>
  createHash('sha256').update(seed).digest().readBigUInt64BE();
